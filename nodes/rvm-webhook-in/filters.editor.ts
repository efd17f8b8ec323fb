import {
  type FilterName,
  FILTERS,
  hasNoList,
  idForm,
  knownIds,
  type KnownIds,
  listedOf,
  namedBy,
} from '../../lib/message/event-filter';
import {
  askSeen,
  ChipField,
  classOffers,
  pickable,
  seenOffers,
  setKnown,
  withOthers,
} from '../support/editor/chips';
import type { Offer, Pickable } from '../support/editor/picker';
import { AskError, askStation, stationAsStored } from '../support/editor/requests';
import { isVariable } from '../support/editor/validate';
import type { PickedDevice } from '../support/picker-data';
import { stationKey } from '../support/rules';

/** Turns the filters of the dialog into lists of chips. The choices are loaded when the user opens one, or a value is set. */
export function filterFields(node: EditorNode): void {
  let offers: Promise<Offers> | undefined;
  let names = new Map<string, string>();

  const load = (fresh: boolean): Promise<Offers> => {
    if (fresh || offers === undefined) {
      const request = filterOffers(node, fresh);
      offers = request;
      // Ignored if the user has chosen another station since.
      void request.then((found) => offers === request && showOffers(found));
    }
    return offers;
  };
  const showOffers = (found: Offers): void => {
    names = new Map(FILTERS.flatMap((name) => found[name]).map((item) => [item.id, item.name]));
    setKnown(node, found.known);
    for (const field of fields) field.show();
  };
  const fields = FILTERS.map(
    (name) =>
      new ChipField({
        node,
        name,
        all: node._('rvm-webhook-in.filter.all'),
        load: async (fresh) => offerOf(name, await load(fresh), sitesChosen(), node._('shared.chips.none')),
        nameOf: (id) => names.get(id),
      }),
  );
  const sitesChosen = (): readonly string[] => fields[FILTERS.indexOf('sites')]?.ids ?? [];
  const isChosen = (): boolean => fields.some(({ ids }) => ids.some((id) => !isVariable(id)));
  $('#node-input-station, #node-input-cloud').on('change', () => {
    offers = undefined;
    setKnown(node, undefined);
    for (const field of fields) {
      field.reset();
      field.show();
    }
    if (isChosen()) void load(false);
  });
  if (isChosen()) void load(false);
}

/** The choices, as far as they could be loaded. */
interface Offers extends Readonly<Record<FilterName, readonly Pickable[]>> {
  known: KnownIds;
  /** Why the service could not be called. */
  fault?: string;
}

/** Choices of the Central Stations in the dialog: from the lists of the service and from their newest events. */
async function filterOffers(node: EditorNode, fresh: boolean): Promise<Offers> {
  const stations = chosenStations();
  const [lists, seen] = await Promise.all([
    Promise.all(stations.map((station) => listOf(node, station, fresh))),
    askSeen(node, stations.map(stationKey)),
  ]);
  const faults = lists.filter((list) => list instanceof AskError);
  const found = lists.map((list) => (list instanceof AskError ? undefined : list));
  const devices = found.flatMap((list) => list ?? []);
  const sites = [...new Set(devices.map(({ site }) => site.trim()).filter((site) => site !== ''))];
  const isListed = stations.length > 0 && faults.every(({ code }) => hasNoList(code));
  return {
    classes: classOffers(seen),
    sites: withOthers('sites', sites.map(pickable), seenOffers('sites', seen)).sort(byName),
    cameras: withOthers('cameras', devices.map(cameraOf), seenOffers('cameras', seen)),
    rules: seenOffers('rules', seen),
    known: knownIds(isListed ? listedOf(found) : undefined, seen && namedBy(seen)),
    ...(faults[0] !== undefined && { fault: faults[0].message }),
  };
}

/**
 * @param offers all choices
 * @param sites the chosen ones: their cameras come first
 */
function offerOf(name: FilterName, offers: Offers, sites: readonly string[], none: string): Offer {
  const items = name === 'cameras' ? camerasFirstOf(sites, offers.cameras) : offers[name];
  const asksService = name === 'sites' || name === 'cameras';
  const note = asksService && offers.fault !== undefined ? offers.fault : items.length === 0 ? none : '';
  return { items, note };
}

function camerasFirstOf(sites: readonly string[], cameras: readonly Pickable[]): readonly Pickable[] {
  const chosen = new Set(sites.map((site) => idForm('sites', site)));
  const isOfThem = ({ group = '' }: Pickable): boolean => chosen.has(idForm('sites', group));
  return [...cameras.filter(isOfThem), ...cameras.filter((camera) => !isOfThem(camera))];
}

/** The station of the open dialog, or all stations of its cloud. */
function chosenStations(): EditorNode[] {
  const station = RED.nodes.node(String($('#node-input-station').val()));
  if (station) return [station];
  const cloud = String($('#node-input-cloud').val());
  const all: EditorNode[] = [];
  RED.nodes.eachConfig((config) => {
    if (config.type === 'rvm-central-station' && config.cloud === cloud && config.d !== true)
      all.push(config);
  });
  return all;
}

/** Returns the error where the service cannot be called. */
async function listOf(
  node: EditorNode,
  station: EditorNode,
  fresh: boolean,
): Promise<PickedDevice[] | AskError> {
  try {
    const values = { fresh: String(fresh) };
    const look = stationAsStored(station);
    return (await askStation<{ devices: PickedDevice[] }>(node, 'devices', look, values)).devices;
  } catch (error) {
    if (error instanceof AskError) return error;
    throw error;
  }
}

function cameraOf({ id, name, site, status, online }: PickedDevice): Pickable {
  return { id, name, group: site, state: { isGood: online, text: status } };
}

function byName(one: Pickable, other: Pickable): number {
  return one.name.localeCompare(other.name);
}
