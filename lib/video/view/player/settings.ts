import type english from '../locales/en-US.json';

/** Texts of the player, in the language of the reader. */
export type PlayerTexts = Pick<typeof english, 'player' | 'fault'>;

/** The content of a player. All addresses are relative to the page, or of its origin. */
export interface PlayerSettings {
  /** Address of a span of a recording as fragmented MP4, which the player repeats; absent without one. */
  recordedUrl?: string;
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
