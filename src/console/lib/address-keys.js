/** The last part of the address of the events that a push will still send, or that a group has not read. */
export const WAITING = 'waiting'

/**
 * The parameters of the addresses of each view, or a function of the rest of the path that returns
 * them. Others are reported; those of a view that is not here are not checked.
 */
export const ADDRESS_KEYS = {
  queues: ([, group, event]) => {
    if (event === WAITING) return ['only', 'after', 'from']
    return group && event === undefined ? ['outcome', 'job', 'since', 'until'] : []
  },
  routes: ([name]) => (name ? ['since', 'until'] : ['search', 'since', 'until', 'sort']),
  skills: ([name]) => ['since', 'until', 'sort', ...(name ? ['outcome', 'error', 'by', 'at'] : [])],
  cost: ['by', 'since', 'until', 'model', 'skill', 'sender', 'gateway'],
  schedules: [],
  jobs: ['kind', 'state', 'since', 'until'],
  people: ['who', 'erasure', 'do', 'search', 'gateway', 'open', 'since', 'until', 'sort', 'focus'],
  audit: ['by', 'action', 'without', 'what', 'kind', 'outcome', 'since', 'until', 'search'],
}
