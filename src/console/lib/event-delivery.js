/** Whether a consumer group or a push has got the event of a message: in words, and a kind of badge. */
export function deliveryOf({ state, push }) {
  if (!push) return state === 'read' ? { kind: 'good', text: 'read' } : { kind: 'dim', text: 'not read yet' }
  if (state === 'delivered') return { kind: 'good', text: 'delivered' }
  if (state === 'failed') return { kind: 'bad', text: `attempt ${push.attempt} failed` }
  if (state === 'withdrawn') return { kind: 'dim', text: 'withdrawn' }
  if (state === 'dead') return { kind: 'bad', text: `dead after attempt ${push.attempt}` }
  return { kind: 'dim', text: state === 'waiting' ? 'waiting' : 'delivered or queued' }
}
