import '../../../lib/video/view/player/player.css';
import './video-panel.css';
import { mount, type MountedPlayer, type PlayerOptions } from '../../../lib/video/view/player/player.browser';
import { authorization } from '../../support/editor/requests';
import { playerTexts } from './player-texts.editor';
import { linesOf, own } from '../list/row.editor';
import { settingsOf, type Wanted } from './video-address.editor';

/** Pixels; on less the panel lies above the sidebar, too. */
const NARROWEST = 480;

/** What a panel shows, and what was pressed to open it. */
export interface PanelView {
  wanted: Wanted;
  texts: readonly [what: string, where: string, quiet: string];
  opener: HTMLElement;
}

interface Shown extends PanelView {
  element: JQuery;
  player: MountedPlayer;
}

/** What a camera sees now, beside the sidebar: of one at a time. */
export class VideoPanel {
  #shown: Shown | undefined;

  /** @param sidebar beside which it stands */
  constructor(private readonly sidebar: JQuery) {
    $(window).on('resize', () => this.#place());
    window.addEventListener('pagehide', () => this.close());
    // The dialog of a node opens where the panel is.
    RED.events.on('editor:open', () => this.close());
  }

  /** In the place of what is shown; what is shown already is closed. */
  toggle(view: PanelView): void {
    const isShown = this.#shown?.opener === view.opener;
    this.close();
    if (!isShown) this.#open(view);
  }

  /** Ends what is fetched. What was pressed to open it has the focus again, unless that is elsewhere. */
  close(): void {
    const shown = this.#shown;
    if (shown === undefined) return;
    this.#shown = undefined;
    const { element, player, opener } = shown;
    const hadFocus = element.is(':focus-within');
    player.close();
    element.remove();
    $(opener).attr('aria-expanded', 'false');
    if (hadFocus) (opener.isConnected ? opener : this.sidebar[0])?.focus({ preventScroll: true });
  }

  #open(view: PanelView): void {
    const [, where, quiet] = view.texts;
    const place = $('<div class="rvm-video-place">');
    const below = $('<div class="rvm-video-below">').append($('<div>').append(linesOf('', where, quiet)));
    const element = this.#frame(view).append(place, below).appendTo('body');
    const [[holder], [keysOf]] = [place.get(), element.get()];
    if (holder === undefined || keysOf === undefined) return;
    const options: PlayerOptions = { headers: authorization, start: 'live', keysOf };
    const player = mount(holder, settingsOf(view.wanted), playerTexts(), options);
    this.#shown = { ...view, element, player };
    $(view.opener).attr('aria-expanded', 'true');
    this.#place();
    place.find('.rvm-player').trigger('focus');
  }

  #frame({ texts: [what] }: PanelView): JQuery {
    const close = $('<button type="button" class="red-ui-button red-ui-button-small rvm-video-close">')
      .append('<i class="fa fa-times" aria-hidden="true">')
      .attr({ 'aria-label': own('close'), title: own('close') })
      .on('click', () => this.close());
    const head = $('<div class="rvm-video-head">').append($('<h3 id="rvm-video-title">').text(what), close);
    return $('<div class="rvm-video" role="dialog" aria-labelledby="rvm-video-title">')
      .append(head)
      .on('keydown', (event) => {
        // What is pressed here is not meant for the workspace.
        event.stopPropagation();
        if (event.key === 'Escape') this.close();
      });
  }

  /** Where there is most room beside the sidebar, on its side. */
  #place(): void {
    const [box] = this.sidebar.get();
    if (this.#shown === undefined || box === undefined) return;
    const { left, right, width } = box.getBoundingClientRect();
    const isLeft = width === 0 || left >= window.innerWidth - right;
    const free = isLeft ? left : window.innerWidth - right;
    const { element } = this.#shown;
    element.toggleClass('rvm-over', free < NARROWEST || width === 0);
    element.css({
      '--rvm-free': `${free}px`,
      right: isLeft ? `${window.innerWidth - left}px` : 'auto',
      left: isLeft ? 'auto' : `${right}px`,
    });
  }
}
