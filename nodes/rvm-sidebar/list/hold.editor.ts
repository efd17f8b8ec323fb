import type { Holding } from './row-list.editor';

/** Whether rows have to stay where they are: somebody points at them, is among them with the keyboard, or has scrolled past them. */
export class Hold {
  /** What a mouse has clicked keeps the focus for as long as nothing else is clicked: that alone holds nothing. */
  #byKeyboard = true;

  /**
   * @param scroll what scrolls
   * @param body what of it holds rows
   * @param top what stays at the top of it
   */
  constructor(
    private readonly scroll: JQuery,
    private readonly body: JQuery,
    private readonly top: JQuery,
  ) {
    scroll.on('keydown', () => (this.#byKeyboard = true));
    scroll.on('pointerdown', () => (this.#byKeyboard = false));
  }

  of(section: JQuery): Holding {
    if (this.body.is(':hover') || this.#isAmong()) return 'all';
    return this.#isPast(section) ? 'new' : 'none';
  }

  #isAmong(): boolean {
    const focused = this.body.find('.rvm-row :focus');
    return focused.length > 0 && (this.#byKeyboard || focused.is('select, input, textarea'));
  }

  /** Of one that is not shown nobody knows where it would be. */
  #isPast(section: JQuery): boolean {
    if ((this.scroll.scrollTop() ?? 0) <= 0) return false;
    const [[element], [top]] = [section.get(), this.top.get()];
    if (element === undefined || top === undefined || !section.is(':visible')) return true;
    return element.getBoundingClientRect().top < top.getBoundingClientRect().bottom - 1;
  }
}
