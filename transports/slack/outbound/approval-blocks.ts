/** What a click on each of our buttons means. The value of the button is the approval's id. */
export const APPROVAL_ACTIONS: Record<string, 'approve' | 'deny'> = {
  'trivium-approve': 'approve',
  'trivium-deny': 'deny',
}
