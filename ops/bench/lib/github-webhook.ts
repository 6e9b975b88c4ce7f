import { createHmac } from 'node:crypto'

export const SECRET = 'a secret of the benchmark'

const BODY_BYTES = 1024
const ID_LENGTH = 36
/** Digits at the end of a delivery id that count the deliveries. */
const SERIAL_LENGTH = 10
const HEAD_END = '\r\n\r\n'

/** A push as GitHub sends it, with a commit message that makes it exactly 1,024 bytes long. */
export function githubBody(): string {
  const commit = {
    id: '0d1a26e67d8f5eaf1f6ba5c57fc3c7d91ac0fd1c',
    message: '',
    timestamp: '2026-11-21T11:05:33+01:00',
    author: { name: 'Ada', email: 'ada@example.com', username: 'ada' },
    added: ['src/gateway/accept.ts'],
    removed: [],
    modified: ['README.md', 'CHANGELOG.md'],
  }
  const push = {
    ref: 'refs/heads/main',
    before: '6113728f27ae82c7b1a177c8d03f9e96e0adf246',
    after: '0d1a26e67d8f5eaf1f6ba5c57fc3c7d91ac0fd1c',
    repository: { id: 186853002, name: 'trivium', full_name: 'example/trivium', private: false },
    pusher: { name: 'ada', email: 'ada@example.com' },
    sender: { login: 'ada', id: 21031067, type: 'User' },
    commits: [commit],
    forced: false,
  }
  const missing = BODY_BYTES - JSON.stringify(push).length
  commit.message = 'Accept once, by key. '.repeat(60).slice(0, missing)
  return JSON.stringify(push)
}

/**
 * Makes signed requests that differ only in their delivery id, which GitHub's signature does not
 * cover. `worker`: the start of the ids. The returned bytes are valid until the next call.
 */
export function createDeliveries(path: string, worker: string): () => Buffer {
  const body = githubBody()
  const signature = createHmac('sha256', SECRET).update(body).digest('hex')
  const head = [
    `POST ${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    'User-Agent: GitHub-Hookshot/044aadd',
    'Accept: */*',
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    'X-GitHub-Event: push',
    'X-GitHub-Hook-ID: 292430182',
    `X-Hub-Signature-256: sha256=${signature}`,
    `X-GitHub-Delivery: ${'0'.repeat(ID_LENGTH)}`,
    '',
    '',
  ].join('\r\n')
  const request = Buffer.from(head + body)
  const idStart = head.length - HEAD_END.length - ID_LENGTH
  const serialStart = idStart + ID_LENGTH - SERIAL_LENGTH
  request.write(worker.padStart(ID_LENGTH - SERIAL_LENGTH, '0'), idStart, 'latin1')
  let serial = 0
  return () => {
    request.write(String(serial++).padStart(SERIAL_LENGTH, '0'), serialStart, 'latin1')
    return request
  }
}

/** The length of the HTTP response at the start of the bytes; 0 if it is incomplete. */
export function httpAnswerLength(bytes: Buffer): number {
  const headLength = bytes.indexOf(HEAD_END)
  if (headLength < 0) return 0
  const [, bodyLength = '0'] = /content-length: (\d+)/i.exec(bytes.toString('latin1', 0, headLength)) ?? []
  const length = headLength + HEAD_END.length + Number(bodyLength)
  return bytes.length >= length ? length : 0
}

/** Whether the status after `HTTP/1.1 ` begins with a 2. */
export function isHttpSuccess(bytes: Buffer): boolean {
  return bytes['HTTP/1.1 '.length] === '2'.charCodeAt(0)
}
