import { LONGEST_PRE_ROLL } from '../../lib/limits';
import { prepareForm } from '../support/editor/form';
import { label, labelStyle, onpaletteadd, outputLabels, paletteLabel } from '../support/editor/palette';
import { deadlineOrReason, inRange, reasoned } from '../support/editor/validate';
import { neededCameraOrReason, timeOrReason, videoFields } from '../support/editor/fields';

RED.nodes.registerType('rvm-get-rtsp', {
  category: 'remote monitoring',
  color: '#a597cc',
  icon: 'rvm-get-rtsp.svg',
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
    preRoll: { value: 0, validate: inRange(0, LONGEST_PRE_ROLL) },
    quality: { value: 'high' },
    whenOffline: { value: 'fail' },
    deadline: { value: 30, validate: reasoned(deadlineOrReason) },
  },
  paletteLabel,
  onpaletteadd,
  label,
  labelStyle,
  outputLabels,
  oneditprepare() {
    prepareForm(this, 'node');
    videoFields(this);
  },
});
