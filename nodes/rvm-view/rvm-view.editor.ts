import { LONGEST_VIEW_MIN, MOST_VIEWERS } from '../../lib/limits';
import { prepareForm } from '../support/editor/form';
import { label, labelStyle, onpaletteadd, outputLabels, paletteLabel } from '../support/editor/palette';
import {
  deadlineOrReason,
  numberOrReason,
  publicUrlOrReason,
  reasoned,
  wholeOrReason,
} from '../support/editor/validate';
import { neededCameraOrReason, timeOrReason, videoFields, waitOrReason } from '../support/editor/fields';

RED.nodes.registerType('rvm-view', {
  category: 'remote monitoring',
  color: '#a597cc',
  icon: 'rvm-view.svg',
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
    minutes: {
      value: 60,
      validate: reasoned((node, value) => numberOrReason(node, value, 1, LONGEST_VIEW_MIN)),
    },
    live: { value: false },
    viewers: { value: 4, validate: reasoned((node, value) => wholeOrReason(node, value, 1, MOST_VIEWERS)) },
    listener: { value: '', type: 'rvm-listener', required: false },
    publicUrl: { value: '', validate: reasoned(publicUrlOrReason) },
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
    videoFields(this);
  },
});
