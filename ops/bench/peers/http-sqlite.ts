import { createHmac, timingSafeEqual } from 'node:crypto'
import { fdatasync, mkdtempSync, openSync, rmSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { SECRET } from '../lib/github-webhook.ts'
import { listening, servePeer } from '../lib/serve-peer.ts'

// The least that durable storage in a file needs: bare node:http, a checked signature, parsed JSON,
// one row per message, and one flushed transaction per turn of the event loop; no deduplication, no
// roads.
const dir = mkdtempSync(join(tmpdir(), 'trivium-bench-'))
const db = new DatabaseSync(join(dir, 'hooks.db'))
db.exec(`PRAGMA page_size = 16384; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
  PRAGMA wal_autocheckpoint = 4000; CREATE TABLE hook (id INTEGER PRIMARY KEY, body TEXT NOT NULL)`)
const begin = db.prepare('BEGIN IMMEDIATE')
const insert = db.prepare('INSERT INTO hook (body) VALUES (?)')
const commit = db.prepare('COMMIT')
const log = openSync(join(dir, 'hooks.db-wal'), 'r+')

let waiting: { response: ServerResponse; body: string }[] = []
let isBusy = false

function write() {
  if (isBusy || waiting.length === 0) return
  isBusy = true
  setImmediate(() => {
    const batch = waiting
    waiting = []
    begin.run()
    const answers = batch.map(({ body }) => JSON.stringify({ id: String(insert.run(body).lastInsertRowid) }))
    commit.run()
    fdatasync(log, (error) => {
      if (error) throw error
      isBusy = false
      for (const [index, { response }] of batch.entries()) {
        const answer = answers[index] ?? ''
        response.writeHead(202, ['Content-Type', 'application/json', 'Content-Length', String(answer.length)])
        response.end(answer)
      }
      write()
    })
  })
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const body = Buffer.concat(chunks)
    const expected = `sha256=${createHmac('sha256', SECRET).update(body).digest('hex')}`
    const signature = String(request.headers['x-hub-signature-256'])
    const isSigned =
      signature.length === expected.length && timingSafeEqual(Buffer.from(signature), Buffer.from(expected))
    const text = body.toString()
    if (!isSigned || typeof JSON.parse(text) !== 'object') {
      response.writeHead(401).end()
      return
    }
    waiting.push({ response, body: text })
    write()
  })
})

servePeer({ listen: () => listening(server) }, () => rmSync(dir, { recursive: true }))
