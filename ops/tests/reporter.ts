import { relative } from 'node:path'
import type { TestEvent } from 'node:test/reporters'
import { inspect } from 'node:util'
import { type Counts, endSuite } from './current.ts'

/**
 * Collects the events of the tests in a runner, and passes the counts and failures of each file to
 * `current.ts`: at the end of the suite that is named like the file, or at the end of the process.
 * Prints nothing.
 */
export default async function* reporter(events: AsyncIterable<TestEvent>) {
  let counts = noCounts()
  const path: string[] = []
  for await (const { type, data } of events) {
    if (type === 'test:start') path.splice(data.nesting, path.length, data.name)
    else if (type === 'test:diagnostic' && data.message.startsWith('Error: '))
      counts.failures.push(data.message)
    else if (type === 'test:fail' || type === 'test:pass') {
      if (data.details.type !== 'suite') counts.tests++
      if (data.skip !== undefined) counts.skipped++
      if (type === 'test:fail' && data.todo === undefined) counts.failures.push(...explain(data, path))
      if (data.nesting > 0 || data.details.type !== 'suite') continue
      if (endSuite(data.name, counts)) counts = noCounts()
    } else if (type === 'test:summary') endSuite(undefined, counts)
  }
  yield ''
}

function noCounts(): Counts {
  return { tests: 0, skipped: 0, failures: [] }
}

type Failure = Extract<TestEvent, { type: 'test:fail' }>['data']

/** The failure as text; nothing for a test that failed only because of a nested test. */
function explain({ name, nesting, details, file, line, column }: Failure, path: string[]): string[] {
  const { error } = details
  if ('failureType' in error && error.failureType === 'subtestsFailed') return []
  const full = [...path.slice(0, nesting), name].join(' › ')
  const place = file === undefined ? '' : ` (${relative(process.cwd(), file)}:${line}:${column})`
  return [`✖ ${full}${place}\n${inspect(error.cause ?? error, { colors: false, depth: 6 })}`]
}
