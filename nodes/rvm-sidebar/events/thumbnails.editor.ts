import { ask, AskError } from '../../support/editor/requests';
import type { Picture, SidebarRow } from '../overview';
import { said } from '../list/row.editor';

/** The small pictures of events, each asked for once. */
export class Thumbnails {
  /** By delivery id and by what they show, as data URLs. */
  readonly #known = new Map<string, Promise<string>>();

  /** An image that fills itself; undefined where there is none. */
  of({ deliveryId, picture }: SidebarRow): JQuery | undefined {
    if (picture === null) return undefined;
    const image = $('<img class="rvm-thumbnail" alt="">');
    this.#urlOf(`${picture} ${deliveryId}`, deliveryId).then(
      (url) => image.attr('src', url),
      () => image.remove(),
    );
    return image;
  }

  forgetAllBut(rows: readonly SidebarRow[]): void {
    const shown = new Set(rows.map(({ picture, deliveryId }) => `${picture} ${deliveryId}`));
    for (const name of this.#known.keys()) if (!shown.has(name)) this.#known.delete(name);
  }

  #urlOf(name: string, deliveryId: string): Promise<string> {
    const known = this.#known.get(name) ?? pictureOf(deliveryId);
    this.#known.set(name, known);
    return known;
  }
}

/** Read by a request that carries the login of the user, as the address of an image could not. */
async function pictureOf(deliveryId: string): Promise<string> {
  const { jpeg } = await ask<Picture>(said, { url: 'rvm/picture', data: { deliveryId } });
  if (jpeg === null) throw new AskError('gone');
  return `data:image/jpeg;base64,${jpeg}`;
}
