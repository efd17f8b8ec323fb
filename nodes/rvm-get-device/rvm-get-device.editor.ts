import { cameraPicker } from '../support/editor/camera';
import { addPaletteWords, prepareForm } from '../support/editor/form';
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
  paletteLabel() {
    return this._('rvm-get-device.label.node');
  },
  onpaletteadd() {
    addPaletteWords(this);
  },
  label() {
    return this.name || this._('rvm-get-device.label.node');
  },
  labelStyle() {
    return this.name ? 'node_label_italic' : '';
  },
  outputLabels(index) {
    return this._(index === 0 ? 'shared.result' : 'shared.failed');
  },
  oneditprepare() {
    prepareForm(this, 'node');
    typedField('camera', 'msg');
    cameraPicker(this);
  },
});
