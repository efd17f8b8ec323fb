import type { PtzList } from '../../../lib/cloud/calls';
import type { PickedDevice, PickedTarget } from '../picker-data';
import './camera/camera-picture.css';
import './camera/chosen-camera.css';
import { type Offer, Picker } from './picker';
import { ask, AskError, askStation, chosenStation, stationAsStored } from './requests';
import { isVariable } from './validate';

/** Last seen list of cameras, for a service that is out of reach. */
interface Seen {
  /** Milliseconds since 1970. */
  at: number;
  devices: PickedDevice[];
}

/**
 * Cameras of a Central Station; the browser caches the list.
 * @param fresh calls the service now
 * @throws AskError
 */
async function camerasOf(node: EditorNode, station: EditorNode, fresh: boolean): Promise<PickedDevice[]> {
  const request = { fresh: String(fresh) };
  const answer = await askStation<{ devices: PickedDevice[] }>(
    node,
    'devices',
    stationAsStored(station),
    request,
  );
  remember(cacheKey(station), { at: Date.now(), devices: answer.devices });
  return answer.devices;
}

/** Cameras as this browser last saw them. */
function camerasSeen(station: EditorNode): Seen | undefined {
  try {
    return (JSON.parse(localStorage.getItem(cacheKey(station)) ?? 'null') as Seen | null) ?? undefined;
  } catch {
    return undefined;
  }
}

/** The camera with this id, or the only one with this name. */
function cameraIn(devices: readonly PickedDevice[], value: string): PickedDevice | undefined {
  const ofId = devices.find(({ id }) => id === value);
  if (ofId !== undefined) return ofId;
  const [only, ...others] = devices.filter(({ name }) => name === value);
  return others.length === 0 ? only : undefined;
}

function cacheKey(station: EditorNode): string {
  return `rvm-devices-${station.id}`;
}

/** A list too long for the storage of the browser is not cached. */
function remember(key: string, seen: Seen): void {
  try {
    localStorage.setItem(key, JSON.stringify(seen));
  } catch {
    localStorage.removeItem(key);
  }
}

/** Adds to the field `camera` of a dialog a list of the cameras of the chosen station, and shows which one is chosen. */
export function cameraPicker(node: EditorNode): Picker {
  new ChosenCamera(node).show();
  const picker = new Picker({
    node,
    name: 'camera',
    title: node._('shared.picker.cameras'),
    load: (fresh) => devicesOffered(node, fresh),
    picked: () => chooseStation(node),
  });
  $('#node-input-station').on('change', () => picker.reset());
  return picker;
}

/**
 * Adds to a field a list of the presets or tours of the chosen camera.
 * @param list which of them; undefined where the message decides
 */
export function targetPicker(node: EditorNode, name: string, list: () => PtzList | undefined): Picker {
  const picker = new Picker({
    node,
    name,
    title: node._('shared.picker.targets'),
    load: () => targetsOffered(node, list()),
  });
  $('#node-input-station, #node-input-camera').on('change', () => picker.reset());
  return picker;
}

/** Selects the only Central Station, to which the picked camera belongs: a message without a station must find it, too. */
function chooseStation(node: EditorNode): void {
  const field = $('#node-input-station');
  if (!RED.nodes.node(String(field.val()))) field.val(chosenStation(node).id).trigger('change');
}

async function devicesOffered(node: EditorNode, fresh: boolean): Promise<Offer> {
  const station = chosenStation(node);
  try {
    const devices = await camerasOf(node, station, fresh);
    return { items: itemsOf(devices), ...(devices.length === 0 && { note: node._('shared.picker.none') }) };
  } catch (error) {
    const seen = camerasSeen(station);
    if (!(error instanceof AskError) || seen === undefined) throw error;
    const time = new Date(seen.at).toLocaleString();
    const note = node._('shared.picker.asOf', { time, reason: error.message });
    return { items: itemsOf(seen.devices), note };
  }
}

async function targetsOffered(node: EditorNode, list: PtzList | undefined): Promise<Offer> {
  const camera = $('#node-input-camera');
  const id = camera.typedInput('value').trim();
  if (camera.typedInput('type') !== 'str' || id === '' || list === undefined)
    throw new AskError(node._('shared.picker.fixedCamera'));
  const answer = await askStation<{ targets: PickedTarget[] }>(
    node,
    'targets',
    stationAsStored(chosenStation(node)),
    { camera: id, list },
  );
  const none = answer.targets.length === 0 && { note: node._('shared.picker.none') };
  return { items: answer.targets, ...none };
}

function itemsOf(devices: readonly PickedDevice[]): Offer['items'] {
  return devices.map(({ id, name, site, status, online }) => ({
    id,
    name,
    group: site,
    state: { isGood: online, text: status },
  }));
}

/**
 * Shows the last picture of a camera next to its field, while the field is hovered or has the focus. Only a picture that
 * Node-RED has cached: the service is not called for it.
 */
class CameraPicture {
  readonly #frame = $('<div class="rvm-camera-picture" role="tooltip" hidden>');
  readonly #known = new Map<string, Promise<string | null>>();
  /** Key of the picture to show; '' for none. */
  #wanted = '';

  /** @param of ids of the Central Station and the camera; undefined where no camera is known */
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

  /** Null where there is no picture, or the user may not see it. */
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

/**
 * Shows name and site of the chosen camera in the field `camera`, and below it the id, which is what the node stores. A focused
 * field shows the id, for editing.
 */
class ChosenCamera {
  readonly #field = $('#node-input-camera');
  readonly #row = this.#field.closest('.form-row');
  readonly #name = $('<span class="rvm-camera-name" aria-hidden="true" hidden>');
  readonly #line = $('<p class="rvm-camera-line" role="status" hidden>');
  readonly #picture: CameraPicture;
  #camera: PickedDevice | undefined;
  /** Number of the last request; older answers are ignored. */
  #requests = 0;

  constructor(private readonly node: EditorNode) {
    const input = this.#row.find('.red-ui-typedInput-input-wrap').addClass('rvm-camera-field');
    input.append(this.#name);
    this.#row.append(this.#line);
    this.#picture = new CameraPicture(node, this.#row, () => this.#shown());
  }

  /** Shows the camera now, and after each change. */
  show(): void {
    this.#field.on('change', () => void this.#look());
    $('#node-input-station').on('change', () => void this.#look());
    void this.#look();
  }

  /** The fixed value of the field; '' where a message or a variable decides. */
  #value(): string {
    if (this.#field.typedInput('type') !== 'str') return '';
    const value = this.#field.typedInput('value').trim();
    return isVariable(value) ? '' : value;
  }

  async #look(): Promise<void> {
    this.#requests += 1;
    const request = this.#requests;
    const value = this.#value();
    this.#show(undefined, '');
    if (value === '') return;
    try {
      const station = chosenStation(this.node);
      const seen = cameraIn(camerasSeen(station)?.devices ?? [], value);
      if (seen !== undefined) this.#show(seen, seen.id);
      const camera = cameraIn(await camerasOf(this.node, station, false), value);
      if (request !== this.#requests) return;
      this.#show(camera, camera?.id ?? this.node._('shared.picker.unknownCamera'));
    } catch (error) {
      // The last seen camera, or the id alone, stays; the list of the picker shows the reason.
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
