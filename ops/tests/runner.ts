// A runner: a process that runs test files one after the other. `runner.ts` reads their names from
// its parent until the pipe ends; `runner.ts FILE` runs one file and ends with its tests.

import { Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { describe } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { begin, sendResult } from './current.ts'
import { COMMANDS } from './result.ts'

// Blocking, because a killed process loses output that it has not written yet.
for (const { _handle } of [Object(process.stdout), Object(process.stderr)]) _handle?.setBlocking?.(true)

// Once the parent is gone, writing fails. Reporting that would fail too, in an endless loop.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => process.exit(1))

const [onlyFile] = process.argv.slice(2)
if (onlyFile === undefined) await runAll()
else await runAlone(onlyFile)

async function runAlone(file: string): Promise<void> {
  void begin(file, true)
  await import(pathToFileURL(file).href)
}

async function runAll(): Promise<void> {
  // node:test fails the file for an error after a test, without showing it.
  process.on('uncaughtException', (error) => console.error(error))
  process.on('unhandledRejection', (error) => console.error(error))
  for await (const file of createInterface({ input: new Socket({ fd: COMMANDS }) })) {
    const counted = begin(file, false)
    await describe(file, async () => void (await import(pathToFileURL(file).href)))
    const counts = await counted
    // The last test may have left a callback that throws in the next turn.
    await setImmediate()
    if (process.exitCode) counts.failures.push('✖ an error after a test had ended, see the output')
    process.exitCode = undefined
    if (counts.tests === 0) counts.failures.push('✖ there are no tests in this file')
    sendResult(counts)
  }
  process.exit()
}
