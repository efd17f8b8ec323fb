/** The parts of the editor's API that the dialogs use, with the signatures that the published types lack. */

interface EditorNode {
  id: string;
  name: string;
  type: string;
  changed: boolean;
  /** Status below the node; absent until one was received. */
  status?: { text?: string };
  _def: EditorType;
  _(key: string, values?: Record<string, unknown>): string;
  [property: string]: unknown;
}

interface EditorProperty {
  value: unknown;
  required?: boolean;
  /** Type of the config node that the property points to. */
  type?: string;
  label?: string;
  /** Returns true, or the reason why the value is invalid. */
  validate?: (this: EditorNode, value: string, options: object) => boolean | string;
}

interface EditorType {
  category: string;
  defaults: Record<string, EditorProperty>;
  /** Validated in the open dialog only: the editor does not have stored credentials. */
  credentials?: Record<string, { type: 'text' | 'password'; validate?: EditorProperty['validate'] }>;
  color?: string;
  icon?: string;
  inputs?: number;
  outputs?: number;
  paletteLabel?(this: EditorNode): string;
  /** Called with the definition once the node is in the palette. */
  onpaletteadd?(this: EditorNode): void;
  /** Text key with namespace for the description of the category; used unless another definition has set one. */
  categoryDescription?: string;
  label(this: EditorNode): string;
  labelStyle?(this: EditorNode): string;
  inputLabels?(this: EditorNode): string;
  outputLabels?(this: EditorNode, index: number): string;
  onadd?(this: EditorNode): void;
  oneditprepare?(this: EditorNode): void;
  oneditsave?(this: EditorNode): void;
}

interface TypedInputType {
  value: string;
  label: string;
  options?: { value: string; label: string }[];
}

interface TypedInputOptions {
  default: string;
  /** Hidden field that stores the type. */
  typeField: JQuery;
  types: (string | TypedInputType)[];
}

interface JQuery {
  typedInput(options: TypedInputOptions): this;
  typedInput(ask: 'type' | 'value'): string;
  typedInput(ask: 'validate', options: { returnErrorMessage: true }): boolean | string;
  typedInput(set: 'type' | 'value', value: string): this;
}

declare const RED: {
  nodes: {
    registerType(type: string, definition: EditorType): void;
    node(id: string): EditorNode | null | undefined;
    eachConfig(each: (node: EditorNode) => boolean | void): void;
    eachNode(each: (node: EditorNode) => boolean | void): void;
    /** Returns a new id. */
    id(): string;
  };
  plugins: { registerPlugin(id: string, definition: { type: string; onadd(): void }): void };
  workspaces: { show(id: string): void };
  /** Returns false where the browser does not allow it. */
  clipboard: { copyText(text: string): boolean };
  sidebar: {
    addTab(tab: {
      id: string;
      label: string;
      name: string;
      content: JQuery;
      iconClass: string;
      enableOnEdit: boolean;
    }): void;
    show(id: string): void;
  };
  user: { hasPermission(permission: string): boolean };
  settings: {
    httpNodeRoot?: string | false;
    /** Version of Node.js to install instead of the running one; empty where that is safe. */
    rvmWebhookInSaferNode?: string;
    /** URL of the admin API, where it is not below the editor's own URL. */
    apiRootUrl?: string;
    /** Login of the user; null without user authentication. */
    get(name: 'auth-tokens'): { access_token: string } | null | undefined;
  };
  comms: { subscribe(topic: string, told: (topic: string, data: object) => void): void };
  view: {
    redrawStatus(node: EditorNode): void;
    importNodes(nodes: object[], options: { generateIds: boolean; notify: boolean }): void;
  };
  events: { on(name: 'editor:open', told: () => void): void };
  /** To be called only by `tell`: a string would be inserted as markup. */
  notify(
    content: HTMLElement,
    options?: {
      type?: string;
      timeout?: number;
      modal?: boolean;
      fixed?: boolean;
      buttons?: { text: string; class?: string; click: () => void }[];
    },
  ): { close: () => void };
  _(key: string, values?: Record<string, unknown>): string;
};
