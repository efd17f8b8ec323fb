import { own } from './row.editor';

/** A part of the sidebar: a heading that says how many there are, what can be done with all, the list, and the way to more of it. */
export class Section {
  readonly element = $('<section>');
  readonly list: JQuery;
  readonly tools = $('<div class="rvm-tools">');
  readonly #heading: JQuery;
  readonly #count = $('<span class="rvm-count">');
  #isEmpty = false;
  readonly #more = $('<button type="button" class="red-ui-button red-ui-button-small rvm-more">');

  /** @param name its list's class is made of it, and its heading */
  constructor(
    readonly name: string,
    more: () => void = () => undefined,
  ) {
    this.list = $(`<div class="rvm-${name}">`);
    this.#heading = $('<h3 tabindex="-1">')
      .attr('id', `rvm-heading-${name}`)
      .append($('<span>').text(own(name)), ' ', this.#count);
    this.element.attr('aria-labelledby', `rvm-heading-${name}`);
    this.#more.on('click', more).hide();
    this.element.append(this.#heading, this.tools, this.list, this.#more);
  }

  /** How many there are, as a text; and more about them. */
  count(text: string, further = ''): void {
    const shown = further === '' ? text : `${text} · ${further}`;
    if (this.#count.text() !== shown) this.#count.text(shown);
  }

  /** What the button for more says; '' hides it. @param isEmpty no rows are shown so far */
  more(text: string, isEmpty = false): void {
    const hadFocus = this.#more.is(':focus');
    if (isEmpty !== this.#isEmpty) {
      this.#isEmpty = isEmpty;
      this.list.toggle(!isEmpty);
      if (isEmpty) this.#heading.append(this.#more);
      else this.element.append(this.#more);
    }
    this.#more.toggle(text !== '');
    if (text !== '' && this.#more.text() !== text) this.#more.text(text);
    if (hadFocus) this.#keepFocus(text === '' ? this.#heading : this.#more);
  }

  /** What is put elsewhere, or hidden, has lost it. */
  #keepFocus(place: JQuery): void {
    if (!place.is(':focus')) place.get(0)?.focus({ preventScroll: true });
  }

  toggle(isThere: boolean): void {
    this.element.toggle(isThere);
  }

  get isShown(): boolean {
    return this.element.css('display') !== 'none';
  }
}
