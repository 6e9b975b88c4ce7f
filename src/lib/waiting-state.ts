/** The state of an event that a push will send, of `subscription-waiting`, in words. */
export function waitingState({ state, error }: { state?: unknown; error?: unknown }): string {
  if (error !== undefined || state === 'retrying') return 'retrying'
  return 'not tried yet'
}
