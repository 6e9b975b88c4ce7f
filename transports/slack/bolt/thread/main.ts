// Entry point of a Bolt app's thread. One thread per app, so that unloading ends everything it started.
import { parentPort, workerData } from 'node:worker_threads'
import type { ThreadData, ToThread } from '../protocol.ts'
import { readOwnEnvironment } from './environment.ts'
import { resolveForApps } from './hooks.ts'
import { createLink } from './link.ts'
import { createListening } from './listening.ts'
import { loadApps } from './load.ts'
import { cleanOutput } from './output.ts'
import { keepSocketsClosed } from './sockets.ts'
import { createCompiler } from './typescript.ts'

const port = parentPort
if (!port) throw new Error('this file runs in a worker thread')
const data = workerData as ThreadData

readOwnEnvironment(data.file)
const compiler = createCompiler()
resolveForApps(data.file, compiler)
keepSocketsClosed()
const link = createLink((messages) => port.postMessage(messages))
cleanOutput(link.cleaned)
const listening = createListening(data, link)
const hear = (message: ToThread) => {
  if (message.kind === 'answer') link.answered(message)
  else if (message.kind === 'abort') listening.abort(message.id)
  else void listening.process(message)
}
/** Processed one per turn, as in plain Bolt: an event runs up to its first await before the next one starts. */
const waiting: ToThread[] = []
const hearNext = () => {
  const message = waiting.shift()
  if (message === undefined) return
  hear(message)
  if (waiting.length > 0) setImmediate(hearNext)
}
port.on('message', (messages: ToThread[]) => {
  const isIdle = waiting.length === 0
  waiting.push(...messages)
  if (isIdle) hearNext()
})
// A finished listener may have left an unawaited call.
process.on('unhandledRejection', (error) => {
  link.say({
    kind: 'log',
    level: 'error',
    text: 'a promise of the app was rejected, and nothing handles it',
    error: link.told(error),
  })
})
try {
  listening.use(await loadApps(data, link, listening.fetch))
  link.say({ kind: 'ready' })
} catch (error) {
  link.say({ kind: 'failed', error: link.told(compiler.explained(error)) })
}
