import '../../../lib/video/view/player/player.css';
import './event-video.css';
import { PlayFailure, wordsFor } from '../../../lib/video/view/player/feed.browser';
import { mount, type MountedPlayer, stillPicture } from '../../../lib/video/view/player/player.browser';
import { authorization } from '../../support/editor/requests';
import { own } from '../list/row.editor';
import { playerTexts } from '../video/player-texts.editor';
import { settingsOf } from '../video/video-address.editor';

/** The picture of an alarm, as wide as the sidebar, and its clip below, which plays at once. */
export class EventVideo {
  readonly element = $('<div class="rvm-event-video">');
  readonly #ending = new AbortController();
  readonly #player: MountedPlayer | undefined;
  #picture: string | undefined;

  /** @param name by which people know the event */
  constructor(
    private readonly deliveryId: string,
    name: string,
  ) {
    const place = $('<div class="rvm-video-place">');
    const still = $('<div class="rvm-alarm-picture rvm-awaited rvm-quiet" role="status">').text(
      own('opened.making'),
    );
    this.element.append(still, place);
    const [holder] = place.get();
    const options = { headers: authorization, start: 'recorded' } as const;
    this.#player = holder && mount(holder, settingsOf({ delivery: deliveryId }), playerTexts(), options);
    void this.#showPicture(still, name);
  }

  /** Ends all that is fetched. */
  close(): void {
    this.#ending.abort();
    this.#player?.close();
    if (this.#picture !== undefined) URL.revokeObjectURL(this.#picture);
    this.element.remove();
  }

  /** Without one the clip shows what there was all the same, from its first frame on. */
  async #showPicture(still: JQuery, name: string): Promise<void> {
    const { pictureUrl = '' } = settingsOf({ delivery: this.deliveryId });
    const { signal } = this.#ending;
    try {
      this.#picture = await stillPicture(pictureUrl, { headers: authorization }, signal);
    } catch (error) {
      if (signal.aborted) return;
      const failure = error instanceof PlayFailure ? error : new PlayFailure('VIDEO_FAILED');
      still.removeClass('rvm-awaited').text(wordsFor(failure, playerTexts()));
      return;
    }
    this.#player?.setPoster(this.#picture);
    still.removeClass('rvm-awaited').empty();
    still.append($('<img>').attr({ src: this.#picture, alt: own('opened.pictureOf', { name }) }));
  }
}
