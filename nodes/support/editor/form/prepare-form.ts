import { fillAbsent } from './fill-absent';
import { foldSections } from './folded-sections';
import { foldTips } from './folded-tips';
import { sayReasons } from './reason-line';

/** What every dialog of the package does first when it opens. */
export function prepareForm(node: EditorNode, kind: 'node' | 'node-config'): void {
  fillAbsent(node, kind);
  foldSections(node, kind);
  foldTips(node);
  sayReasons(node, kind);
}
