import { hash } from 'node:crypto';

/*
 * By which messages and alarms are looked for: their names may be longer than an entry of an index. They stand in the tables, and
 * locks are taken of them, so that every version of the package has to make them in this way.
 */

/** Of all messages with this id, each with other content. @param named, id as of a `NewMessage` */
export function messageKey(station: string, named: boolean, id: string): string {
  return digest(`${station.length} ${station}\n${Number(named)}${id}`);
}

export function alarmKey(station: string, alarm: string): string {
  return digest(`${station.length} ${station}\n2${alarm}`);
}

/** 128 bits of a text, of which no two have the same; as PostgreSQL takes a UUID, too. */
function digest(text: string): string {
  return hash('sha256', text).slice(0, 32);
}
