import type english from '../locales/en-US.json';

/** Texts of the player, in the language of the reader. */
export type PlayerTexts = Pick<typeof english, 'player' | 'fault'>;

/** A span of a recording, which the player repeats. */
interface RecordedPart {
  /** Address of its fragmented MP4. */
  url: string;
  /** Length in seconds. */
  seconds: number;
  /** Seconds from its start to the alarm; absent without an alarm in it. */
  alarmAt?: number;
}

/** The content of a player. All addresses are relative to the page, or of its origin. */
export interface PlayerSettings {
  recorded?: RecordedPart;
  /** Address of live video as fragmented MP4; absent where live video is not allowed. */
  liveUrl?: string;
  /** Address of a JPEG, for browsers that cannot play the video; absent without one. */
  pictureUrl?: string;
  /** Address of the finished recording, for browsers without Media Source Extensions. */
  clipUrl?: string;
  /** When the addresses expire, in milliseconds since 1970. */
  expires?: number;
}

/** Data from the server for the player in the page. */
export interface PageData {
  settings: PlayerSettings;
  texts: PlayerTexts;
}
