// The parts of CodeMirror 6 that editor.js uses. To renew the built file: copy this folder to a scratch place, run
// `npm install` and `npm run build` there, commit the built file, and write the licences beside it anew.
export { EditorState } from "@codemirror/state";
export {
  crosshairCursor, drawSelection, dropCursor, EditorView, highlightActiveLine, highlightActiveLineGutter,
  highlightSpecialChars, keymap, lineNumbers, rectangularSelection,
} from "@codemirror/view";
export { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
export {
  bracketMatching, foldGutter, foldKeymap, HighlightStyle, indentOnInput, indentUnit, syntaxHighlighting,
} from "@codemirror/language";
export { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
export { forEachDiagnostic, lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
export { closeBrackets, closeBracketsKeymap } from "@codemirror/autocomplete";
export { pythonLanguage } from "@codemirror/lang-python";
export { cppLanguage } from "@codemirror/lang-cpp";
export { tags } from "@lezer/highlight";
