import { createContext, Script } from 'node:vm'

const context = createContext({ work: undefined })
const script = new Script('work()')

/**
 * Runs synchronous code that came about by what somebody else wrote, and ends it after `ms`. Returns what it returns; throws
 * what it throws, or an Error with the code ERR_SCRIPT_EXECUTION_TIMEOUT. Not for what holds files, locks or shared state.
 */
export function withTimeLimit<T>(ms: number, work: () => T): T {
  let result: { value: T } | undefined
  const previous: unknown = context.work
  context.work = () => {
    result = { value: work() }
  }
  try {
    script.runInContext(context, { timeout: ms })
  } finally {
    context.work = previous
  }
  if (!result) throw new Error('it did not run')
  return result.value
}
