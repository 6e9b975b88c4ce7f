import { startDovecot } from '../fixtures/dovecot.ts'
import { serveHttp } from '../fixtures/http-server.ts'
import { startOpenAiServer } from '../fixtures/openai-server.ts'
import { startQueueWorker } from '../fixtures/queue-worker.ts'
import { startRedisServer } from '../fixtures/redis-server.ts'
import { startSmtpServer } from '../fixtures/smtp-server.ts'

/**
 * Servers that the blocks of a page use. `replacements`: addresses and names of the page,
 * with those of this run.
 */
export type Servers = { replacements: Record<string, string>; close(): Promise<unknown> }

/** A Redis on the usual port. */
export async function redis(): Promise<Servers> {
  const { url, port, stop } = await startRedisServer()
  return {
    replacements: { 'redis://127.0.0.1:6379': url, 'redis-cli ': `redis-cli -p ${port} ` },
    close: stop,
  }
}

/** A Redis on the usual port, and a worker of the queue `invoices`. */
export async function redisWithWorker(): Promise<Servers> {
  const { url, stop } = await startRedisServer()
  const worker = await startQueueWorker(url, 'invoices')
  const close = async () => {
    await worker.kill()
    await stop()
  }
  return { replacements: { 'redis://127.0.0.1:6379': url }, close }
}

/** A model that always answers with this text. */
export async function model(text: string): Promise<Servers> {
  return scriptedModel(Array.from({ length: 10 }, () => ({ text })))
}

/**
 * A model that uses its first tool with these arguments, and then says the result: `We have 7
 * lamps.`
 */
export async function modelWithTool(args: object, say: (result: string) => string): Promise<Servers> {
  return scriptedModel([
    ({ tools: [name = ''] }) => ({ calls: [{ name, args }] }),
    ({ messages }) => ({ text: say(String(messages.at(-1)?.content)) }),
  ])
}

async function scriptedModel(answers: Parameters<typeof startOpenAiServer>[0]): Promise<Servers> {
  const { url, close } = await startOpenAiServer(answers)
  return {
    replacements: { 'http://127.0.0.1:11434/v1': url, 'anthropic:claude-sonnet-5': 'local:tiny' },
    close,
  }
}

/** A mail server. */
export async function mail(): Promise<Servers> {
  const dovecot = await startDovecot()
  const smtp = await startSmtpServer({ lmtpPort: dovecot.lmtpPort })
  const close = async () => {
    await smtp.close()
    await dovecot.close()
  }
  const replacements = {
    'port: 1143': `port: ${dovecot.imapPort}`,
    'port: 1025': `port: ${smtp.port}`,
    'smtp://127.0.0.1:1025': `smtp://127.0.0.1:${smtp.port}`,
    MAIL_PASSWORD: dovecot.password,
  }
  return { replacements, close }
}

/** A program of the reader on `localhost:3000`, which fails once, at its second request. */
export async function program(): Promise<Servers> {
  let requests = 0
  const { port, close } = await serveHttp((request, response) => {
    requests += 1
    request.resume()
    response.writeHead(requests === 2 ? 500 : 200).end()
  })
  return {
    replacements: {
      'http://localhost:3000/': `http://localhost:${port}/`,
      '--forward 3000': `--forward ${port}`,
    },
    close,
  }
}
