import { eventRow } from '../event-row';
import type { ListedMessage } from '../inbox';
import { matchAll, type SearchTerms } from '../../text';

/** Shorter words are looked for in names alone: the number of a camera stands in nearly every id. */
const LONG_ENOUGH_FOR_IDS = 4;

/** Whether site, camera, rule, class, Central Station or an id of a message has all words. */
export function matches(message: ListedMessage, words: SearchTerms, stationName = ''): boolean {
  if (words.length === 0) return true;
  const { site, camera, rule, class: ofClass, alarmId, messageId, deliveryId, station } = eventRow(message);
  const { cameraId, cameraRemoteId, locationId } = message.event;
  const names = [site, camera, rule, ofClass, station, stationName];
  const ids = [alarmId, messageId, deliveryId, cameraId, cameraRemoteId, locationId];
  const [short, long] = [words.filter(isShort), words.filter((word) => !isShort(word))];
  return matchAll(names, short) && matchAll([...names, ...ids], long);
}

function isShort(word: string): boolean {
  return word.length < LONG_ENOUGH_FOR_IDS;
}
