// Entry point of a Bolt app's thread. One thread per app, so that unloading ends everything it
// started.
import { parentPort, workerData } from 'node:worker_threads'
import type { ThreadData, ToThread } from '../protocol.ts'
import { readOwnEnvironment } from './environment.ts'
import { registerAppHooks } from './hooks.ts'
import { createLink } from './link.ts'
import { createListening } from './listening.ts'
import { loadApps } from './load.ts'
import { redactOutput } from './output.ts'
import { warnOfRelativeFiles } from './relative-files.ts'
import { preventSockets } from './sockets.ts'
import { createCompiler } from './typescript.ts'
import { warnOfVersion } from './version.ts'

const port = parentPort
if (!port) throw new Error('this file runs in a worker thread')
// Written by `startAppThread`.
const data = workerData as ThreadData

readOwnEnvironment(data.file)
const link = createLink((messages) => port.postMessage(messages))
const warn = (text: string) => link.send({ kind: 'warning', text })
warnOfVersion(data.file, warn)
const compiler = createCompiler()
registerAppHooks(data.file, compiler)
preventSockets()
redactOutput(link.redact)
warnOfRelativeFiles(data.file, warn)
const listening = createListening(data, link)
const handle = (message: ToThread) => {
  if (message.kind === 'answer') link.settle(message)
  else if (message.kind === 'abort') listening.abort(message.id)
  else void listening.process(message)
}
/**
 * Messages of the daemon that wait. One is handled per turn of the event loop, as in plain Bolt: an
 * event runs up to its first await before the next one starts.
 */
const waiting: ToThread[] = []
const handleNext = () => {
  const message = waiting.shift()
  if (message === undefined) return
  handle(message)
  if (waiting.length > 0) setImmediate(handleNext)
}
port.on('message', (messages: ToThread[]) => {
  const isIdle = waiting.length === 0
  waiting.push(...messages)
  if (isIdle) handleNext()
})
// A finished listener may have left an unawaited call.
process.on('unhandledRejection', (error) => {
  link.send({
    kind: 'log',
    level: 'error',
    text: 'a promise of the app was rejected, and nothing handles it',
    error: link.toErrorData(error),
  })
})
try {
  listening.use(await loadApps(data, link, listening.fetch))
  link.send({ kind: 'ready' })
} catch (error) {
  link.send({ kind: 'failed', error: link.toErrorData(compiler.explained(error)) })
}
