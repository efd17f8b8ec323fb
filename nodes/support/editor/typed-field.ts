const TYPES = ['msg', 'flow', 'global', 'str', 'num', 'env', 'jsonata'];

/** Fixed values to choose from, in the place of a free text. */
export interface FixedChoice {
  /** What the type is called in the menu. */
  label: string;
  options: { value: string; label: string }[];
}

/** Makes a typed input of the field of a property; its type is kept in the field of `<name>Type`. */
export function typedField(name: string, byDefault: string, fixed?: FixedChoice): void {
  const choice = { value: 'str', ...fixed } as TypedInputType;
  const types =
    fixed === undefined ? TYPES : [choice, ...TYPES.filter((type) => type !== 'str' && type !== 'num')];
  $(`#node-input-${name}`).typedInput({ default: byDefault, typeField: $(`#node-input-${name}Type`), types });
}
