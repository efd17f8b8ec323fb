import { cameraPicker } from '../support/editor/camera';
import { prepareForm } from '../support/editor/form';
import { label, labelStyle, onpaletteadd, outputLabels, paletteLabel } from '../support/editor/palette';
import { typedField } from '../support/editor/fields';
import { cameraOrReason, deadlineOrReason, reasoned } from '../support/editor/validate';

RED.nodes.registerType('rvm-get-device', {
  category: 'remote monitoring',
  color: '#a9cee0',
  icon: 'rvm-get-device.svg',
  inputs: 1,
  outputs: 2,
  defaults: {
    name: { value: '' },
    configVersion: { value: 1 },
    station: { value: '', type: 'rvm-central-station', required: false },
    camera: { value: 'event.cameraId', validate: reasoned(cameraOrReason) },
    cameraType: { value: 'msg' },
    what: { value: 'details' },
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
