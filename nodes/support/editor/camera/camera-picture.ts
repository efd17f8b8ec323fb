import './camera-picture.css';
import { ask, AskError } from '../ask';

/**
 * The last picture of a camera, beside its field while one points at that or is in it. Only one that Node-RED has anyway: no
 * service is asked for a picture that nobody has opened.
 */
export class CameraPicture {
  readonly #frame = $('<div class="rvm-camera-picture" role="tooltip" hidden>');
  readonly #known = new Map<string, Promise<string | null>>();
  /** Of whom the picture is wanted now; '' where of nobody. */
  #wanted = '';

  /** @param of id of the Central Station and of the camera whose picture there may be; undefined where no camera is known */
  constructor(
    private readonly node: EditorNode,
    row: JQuery,
    of: () => { station: string; camera: string; name: string } | undefined,
  ) {
    const field = row.find('.red-ui-typedInput-container');
    row.append(this.#frame);
    field.on('mouseenter focusin', () => {
      const camera = of();
      if (camera !== undefined) void this.#show(camera);
    });
    field.on('mouseleave focusout', () => this.hide());
    field.on('keydown', ({ key }) => {
      if (key === 'Escape') this.hide();
    });
  }

  hide(): void {
    this.#wanted = '';
    this.#frame.prop('hidden', true).empty();
  }

  async #show({ station, camera, name }: { station: string; camera: string; name: string }): Promise<void> {
    const wanted = `${station} ${camera}`;
    this.#wanted = wanted;
    const picture = this.#known.get(wanted) ?? this.#ask(station, camera);
    this.#known.set(wanted, picture);
    const jpeg = await picture;
    if (jpeg === null || this.#wanted !== wanted) return;
    const image = $('<img>').attr({ src: `data:image/jpeg;base64,${jpeg}`, alt: name });
    this.#frame.empty().append(image).prop('hidden', false);
  }

  /** Null where there is none, or it may not be seen. */
  async #ask(station: string, camera: string): Promise<string | null> {
    try {
      const request = { url: 'rvm/camera-picture', data: { station, camera } };
      return (await ask<{ jpeg: string | null }>((key) => this.node._(key), request)).jpeg;
    } catch (error) {
      if (error instanceof AskError) return null;
      throw error;
    }
  }
}
