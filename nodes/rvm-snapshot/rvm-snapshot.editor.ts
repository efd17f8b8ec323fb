import { WIDEST_SNAPSHOT } from '../../lib/limits';
import { cameraPicker } from '../support/editor/camera';
import { prepareForm } from '../support/editor/form';
import { label, labelStyle, onpaletteadd, outputLabels, paletteLabel } from '../support/editor/palette';
import { typedField } from '../support/editor/fields';
import { cameraOrReason, deadlineOrReason, isVariable, reasoned, trimmed } from '../support/editor/validate';

function widthOrReason(node: EditorNode, value: unknown): boolean | string {
  const text = trimmed(value);
  const width = Number(text);
  const usable = text === '' || (Number.isInteger(width) && width >= 1 && width <= WIDEST_SNAPSHOT);
  return usable || isVariable(text) || node._('rvm-snapshot.errors.width', { most: WIDEST_SNAPSHOT });
}

RED.nodes.registerType('rvm-snapshot', {
  category: 'remote monitoring',
  color: '#a597cc',
  icon: 'rvm-snapshot.svg',
  inputs: 1,
  outputs: 2,
  defaults: {
    name: { value: '' },
    configVersion: { value: 1 },
    station: { value: '', type: 'rvm-central-station', required: false },
    camera: { value: 'event.cameraId', validate: reasoned(cameraOrReason) },
    cameraType: { value: 'msg' },
    width: { value: '', validate: reasoned(widthOrReason) },
    deadline: { value: 30, validate: reasoned(deadlineOrReason) },
  },
  paletteLabel,
  onpaletteadd,
  label,
  labelStyle,
  outputLabels,
  oneditprepare() {
    prepareForm(this, 'node');
    typedField('camera', 'msg');
    cameraPicker(this);
  },
});
