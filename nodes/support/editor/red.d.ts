/** The parts of the editor's API that the dialogs use, with the forms that the published types lack. */

interface EditorNode {
  id: string;
  name: string;
  type: string;
  changed: boolean;
  /** What stands below it; absent until it was told. */
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
  /** Returns true, or the reason why the value will not do. */
  validate?: (this: EditorNode, value: string, options: object) => boolean | string;
}

interface EditorType {
  category: string;
  defaults: Record<string, EditorProperty>;
  /** Checked in the open dialog alone: what is stored of them the editor does not know. */
  credentials?: Record<string, { type: 'text' | 'password'; validate?: EditorProperty['validate'] }>;
  color?: string;
  icon?: string;
  inputs?: number;
  outputs?: number;
  paletteLabel?(this: EditorNode): string;
  /** Called with the definition once the node is in the palette. */
  onpaletteadd?(this: EditorNode): void;
  /** A key with its namespace: what the category is about, where no other definition has said so. */
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
  /** Hidden field that takes the type. */
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
    /** A new one. */
    id(): string;
  };
  plugins: { registerPlugin(id: string, definition: { type: string; onadd(): void }): void };
  workspaces: { show(id: string): void };
  /** False where the browser does not let it. */
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
    /** Of Node.js: to be installed in place of the one that runs; empty where that will do. */
    rvmWebhookInSaferNode?: string;
    /** Where the admin API is, where it is not below the editor's own address. */
    apiRootUrl?: string;
    /** The login of the user; null where there are no users. */
    get(name: 'auth-tokens'): { access_token: string } | null | undefined;
  };
  comms: { subscribe(topic: string, told: (topic: string, data: object) => void): void };
  view: {
    redrawStatus(node: EditorNode): void;
    importNodes(nodes: object[], options: { generateIds: boolean; notify: boolean }): void;
  };
  events: { on(name: 'editor:open', told: () => void): void };
  /** By `tell` alone: a string would be markup. */
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
