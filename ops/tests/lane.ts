// A process in which test files run, one after the other: `lane.ts` takes their names from its parent until there are no more;
// `lane.ts FILE` runs that one, and ends with its tests.

import { Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { describe } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { begin, sendResult } from './current.ts'
import { COMMANDS } from './result.ts'

// A process that is ended by force would lose what it still had to write.
for (const { _handle } of [Object(process.stdout), Object(process.stderr)]) _handle?.setBlocking?.(true)

const [alone] = process.argv.slice(2)
if (alone === undefined) await runAll()
else await runAlone(alone)

async function runAlone(file: string): Promise<void> {
  void begin(file, true)
  await import(pathToFileURL(file).href)
}

async function runAll(): Promise<void> {
  // What happens after a test fails the file in which it happens; this says what it was.
  process.on('uncaughtException', (error) => console.error(error))
  process.on('unhandledRejection', (error) => console.error(error))
  for await (const file of createInterface({ input: new Socket({ fd: COMMANDS }) })) {
    const counted = begin(file, false)
    await describe(file, async () => void (await import(pathToFileURL(file).href)))
    const counts = await counted
    // The last test may have left something that fails at its next turn.
    await setImmediate()
    if (process.exitCode) counts.failures.push('✖ an error after a test had ended, see the output')
    process.exitCode = undefined
    if (counts.tests === 0) counts.failures.push('✖ there are no tests in this file')
    sendResult(counts)
  }
  process.exit()
}
