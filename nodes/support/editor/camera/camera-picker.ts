import type { PtzList } from '../../../../lib/cloud/calls';
import type { PickedDevice, PickedTarget } from '../../picker-data';
import { AskError } from '../ask';
import { askStation, chosenStation, stationAsKept } from '../ask-station';
import { camerasOf, camerasSeen } from './camera-list';
import { ChosenCamera } from './chosen-camera';
import { Picker, type Offer } from '../picker';

/** Adds a list of the cameras of the chosen station to the field `camera` of a dialog, which says which one it is. */
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
 * Adds a list of the presets or tours of the chosen camera to a field.
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

/** The camera that was picked is one of the only Central Station there is: a message without one must find it, too. */
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
    stationAsKept(chosenStation(node)),
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
