import { FARTHEST_OFFSET_S, MOST_OFFSETS, NARROWEST_PICTURE, WIDEST_PICTURE } from '../../lib/limits';
import { offsetsIn } from '../../lib/video/picture/wanted-picture';
import { prepareForm } from '../support/editor/form';
import { label, labelStyle, onpaletteadd, outputLabels, paletteLabel } from '../support/editor/palette';
import { deadlineOrReason, isOpen, reasoned, trimmed, wholeOrReason } from '../support/editor/validate';
import {
  neededCameraOrReason,
  timeOrReason,
  videoFields,
  videoUses,
  waitOrReason,
} from '../support/editor/fields';

/** Negative offsets are invalid for live video, which has no earlier pictures. */
function offsetsOrReason(node: EditorNode, value: unknown): boolean | string {
  if (isOpen(value)) return true;
  const offsets = usableOffsets(value);
  if (offsets === undefined)
    return node._('rvm-get-picture.errors.offsets', { most: MOST_OFFSETS, farthest: FARTHEST_OFFSET_S });
  const isTooEarly = !videoUses(node).recorded && offsets.some((offset) => offset < 0);
  return !isTooEarly || node._('rvm-get-picture.errors.earlierThanLive');
}

/** Parsed as in the runtime. */
function usableOffsets(value: unknown): number[] | undefined {
  try {
    return offsetsIn(value);
  } catch {
    return undefined;
  }
}

function widthOrReason(node: EditorNode, value: unknown): boolean | string {
  const [least, most] = [NARROWEST_PICTURE, WIDEST_PICTURE];
  const isUsable = trimmed(value) === '' || wholeOrReason(node, value, least, most) === true;
  return isUsable || node._('rvm-get-picture.errors.width', { least, most });
}

RED.nodes.registerType('rvm-get-picture', {
  category: 'remote monitoring',
  color: '#a597cc',
  icon: 'rvm-get-picture.svg',
  inputs: 1,
  outputs: 2,
  defaults: {
    name: { value: '' },
    configVersion: { value: 1 },
    station: { value: '', type: 'rvm-central-station', required: false },
    mode: { value: 'event' },
    camera: { value: 'event.cameraId', validate: reasoned(neededCameraOrReason) },
    cameraType: { value: 'msg' },
    time: { value: '', validate: reasoned(timeOrReason) },
    timeType: { value: 'str' },
    offsets: { value: '0', validate: reasoned(offsetsOrReason) },
    layout: { value: 'first' },
    width: { value: '', validate: reasoned(widthOrReason) },
    quality: { value: 'high' },
    whenOffline: { value: 'fail' },
    waitForVideo: { value: 60, validate: reasoned(waitOrReason) },
    deadline: { value: 90, validate: reasoned(deadlineOrReason) },
  },
  paletteLabel,
  onpaletteadd,
  label,
  labelStyle,
  outputLabels,
  oneditprepare() {
    prepareForm(this, 'node');
    videoFields(this, 'offsets');
  },
});
