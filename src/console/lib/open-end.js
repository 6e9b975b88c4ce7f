/** How a pause without an end ends. */
export function openEnd(kind) {
  return kind === 'conversation' ? 'it is handed back' : 'it is resumed'
}
