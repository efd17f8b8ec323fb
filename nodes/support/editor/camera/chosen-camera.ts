import './chosen-camera.css';
import type { PickedDevice } from '../../picker-data';
import { AskError } from '../ask';
import { chosenStation } from '../ask-station';
import { cameraIn, camerasOf, camerasSeen } from './camera-list';
import { CameraPicture } from './camera-picture';
import { isVariable } from '../validate';

/**
 * Says in the field `camera` of a dialog which one it is, by name and site, and below it its id, which is what the node keeps. Who
 * is in the field sees the id there, and can type another.
 */
export class ChosenCamera {
  readonly #field = $('#node-input-camera');
  readonly #row = this.#field.closest('.form-row');
  readonly #name = $('<span class="rvm-camera-name" aria-hidden="true" hidden>');
  readonly #line = $('<p class="rvm-camera-line" role="status" hidden>');
  readonly #picture: CameraPicture;
  #camera: PickedDevice | undefined;
  /** Answers that come late count no more. */
  #asked = 0;

  constructor(private readonly node: EditorNode) {
    const input = this.#row.find('.red-ui-typedInput-input-wrap').addClass('rvm-camera-field');
    input.append(this.#name);
    this.#row.append(this.#line);
    this.#picture = new CameraPicture(node, this.#row, () => this.#shown());
  }

  /** Now, and whenever another is chosen. */
  show(): void {
    this.#field.on('change', () => void this.#look());
    $('#node-input-station').on('change', () => void this.#look());
    void this.#look();
  }

  /** What the field holds as a fixed value; '' where a message or a variable decides. */
  #value(): string {
    if (this.#field.typedInput('type') !== 'str') return '';
    const value = this.#field.typedInput('value').trim();
    return isVariable(value) ? '' : value;
  }

  async #look(): Promise<void> {
    this.#asked += 1;
    const asked = this.#asked;
    const value = this.#value();
    this.#show(undefined, '');
    if (value === '') return;
    try {
      const station = chosenStation(this.node);
      const seen = cameraIn(camerasSeen(station)?.devices ?? [], value);
      if (seen !== undefined) this.#show(seen, seen.id);
      const camera = cameraIn(await camerasOf(this.node, station, false), value);
      if (asked !== this.#asked) return;
      this.#show(camera, camera?.id ?? this.node._('shared.picker.unknownCamera'));
    } catch (error) {
      // As it was last seen, or the id alone: the list to choose from says why.
      if (!(error instanceof AskError)) throw error;
    }
  }

  #show(camera: PickedDevice | undefined, line: string): void {
    this.#camera = camera;
    this.#picture.hide();
    this.#name.text(camera === undefined ? '' : labelOf(camera)).prop('hidden', camera === undefined);
    this.#line.text(line).prop('hidden', line === '');
    this.#line.toggleClass('rvm-camera-unknown', camera === undefined);
    this.#inner().attr('aria-label', camera === undefined ? null : labelOf(camera));
  }

  #inner(): JQuery {
    return this.#row.find('.red-ui-typedInput-input');
  }

  #shown(): { station: string; camera: string; name: string } | undefined {
    if (this.#camera === undefined) return undefined;
    return {
      station: chosenStation(this.node).id,
      camera: this.#camera.id,
      name: labelOf(this.#camera),
    };
  }
}

function labelOf({ id, name, site }: PickedDevice): string {
  return [name || id, site].filter((text) => text !== '').join(' · ');
}
