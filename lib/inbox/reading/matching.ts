import { eventRow } from '../event-row';
import type { ListedMessage } from '../inbox';
import { haveAll, type Words } from './words';

/** Whether site, camera, rule, class, Central Station or an id of a message has all words. */
export function matches(message: ListedMessage, words: Words, stationName = ''): boolean {
  if (words.length === 0) return true;
  const { site, camera, rule, class: ofClass, alarmId, messageId, deliveryId, station } = eventRow(message);
  const { cameraId, cameraRemoteId, locationId } = message.event;
  const names = [site, camera, rule, ofClass, station, stationName];
  const ids = [alarmId, messageId, deliveryId, cameraId, cameraRemoteId, locationId];
  return haveAll([...names, ...ids], words);
}
