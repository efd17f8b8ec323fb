import fs from 'node:fs';
import path from 'node:path';
import type { NodeAPI } from 'node-red';
import { RvmError } from '../../lib/error';
import { variableIn } from '../../lib/text';

/** Properties of a node in a flow. Values of any type: flows are edited by hand, and `${ENV}` arrives as text. */
export type Properties = Readonly<Record<string, unknown>>;

/** Names of environment variables that are not set: at least one, without duplicates. */
export type UnsetVariables = readonly [string, ...string[]];

/** Unset variables in all properties and credentials of a node; undefined where all are set. */
export function unsetVariables(...sources: readonly (object | undefined)[]): UnsetVariables | undefined {
  const values = sources.flatMap((source): unknown[] => Object.values(source ?? {}));
  return eachOnce(values.map(variableIn));
}

/** Joins the unset variables of nodes that need each other. */
export function unsetTogether(
  ...lists: readonly (readonly string[] | undefined)[]
): UnsetVariables | undefined {
  return eachOnce(lists.flatMap((list) => list ?? []));
}

function eachOnce(names: readonly (string | undefined)[]): UnsetVariables | undefined {
  const [first, ...others] = new Set(names.filter((name) => name !== undefined));
  return first === undefined ? undefined : [first, ...others];
}

/** RvmError CONFIG_MISSING that names all variables. */
export function unsetVariableError(variables: UnsetVariables): RvmError {
  const names = variables.join(', ');
  return new RvmError(
    'CONFIG_MISSING',
    variables.length === 1
      ? `The environment variable ${names} is not set: set it and restart Node-RED, or enter a value in its place.`
      : `The environment variables ${names} are not set: set them and restart Node-RED, or enter values in their place.`,
  );
}

/** RvmError CONFIG_MISSING for a draft: values of this machine must not go to an address that is not deployed. */
export function draftVariableError(variables: UnsetVariables): RvmError {
  const isOne = variables.length === 1;
  const names = variables.join(', ');
  return new RvmError(
    'CONFIG_MISSING',
    `The environment ${isOne ? `variable ${names} is` : `variables ${names} are`} read by deployed nodes only: deploy the flow first.`,
  );
}

/** A text property, numbers included; the default where it is absent or of another type. */
export function textOf(properties: Properties, name: string, byDefault = ''): string {
  const value = properties[name];
  return typeof value === 'string' || typeof value === 'number' ? `${value}` : byDefault;
}

/** A number property in its unit; `${ENV}` arrives as text. The default where absent or below `least`. */
export function numberOf(properties: Properties, name: string, byDefault: number, least = 0): number {
  const value = properties[name];
  if (value === undefined || value === null || value === '') return byDefault;
  const number = Number(value);
  return Number.isFinite(number) && number >= least ? number : byDefault;
}

/**
 * A number property as `numberOf`, but an unreadable or out-of-range value is rejected instead of replaced.
 * @throws RvmError BAD_INPUT
 */
export function strictNumberOf(
  properties: Properties,
  name: string,
  byDefault: number,
  least = 0,
  most = Infinity,
): number {
  const value = properties[name] ?? '';
  if (typeof value === 'string' && value.trim() === '') return byDefault;
  const number = typeof value === 'string' || typeof value === 'number' ? Number(value) : NaN;
  if (Number.isFinite(number) && number >= least && number <= most) return number;
  const bounds = most === Infinity ? `at least ${least}` : `from ${least} to ${most}`;
  throw new RvmError('BAD_INPUT', `The property ${name} of this node must be a number, ${bounds}.`);
}

/** A boolean property. */
export function flagOf(properties: Properties, name: string, byDefault = false): boolean {
  const value = properties[name];
  if (typeof value === 'boolean') return value;
  if (value === 'true') return true;
  if (value === 'false') return false;
  return byDefault;
}

/**
 * A property with one of a few values.
 * @throws RvmError BAD_INPUT that lists them.
 */
export function choiceOf<T extends string>(
  properties: Properties,
  name: string,
  choices: readonly [T, ...T[]],
): T {
  const value = textOf(properties, name, choices[0]) || choices[0];
  const choice = choices.find((candidate) => candidate === value);
  if (choice !== undefined) return choice;
  throw new RvmError('BAD_INPUT', `"${value}" is not possible for ${name}: choose ${choices.join(', ')}.`);
}

/** A comma-separated list. */
export function listOf(properties: Properties, name: string): string[] {
  return textOf(properties, name)
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

/** Folder for data of this package that is neither a flow nor an inbox in another folder. */
export function ownFolder(RED: NodeAPI): string {
  return path.join(RED.settings.userDir ?? process.cwd(), 'remote-monitoring');
}

/** Name and version as sent in `User-Agent`, from package.json in the folder above dist/. */
export function userAgent(): string {
  const file = path.join(__dirname, '..', '..', '..', 'package.json');
  const { name, version } = JSON.parse(fs.readFileSync(file, 'utf8')) as { name: string; version: string };
  return `${name.replace(/^@/, '')}/${version}`;
}
