import { createServer } from 'node:http'
import { listening, servePeer } from '../lib/serve-peer.ts'

// The baseline: reads the body and answers 202 with as many bytes as Trivium does.
const answer = JSON.stringify({ id: '01234567-89ab-7def-8123-456789abcdef' })

const server = createServer((request, response) => {
  request.on('data', () => {})
  request.on('end', () => {
    response.writeHead(202, ['Content-Type', 'application/json', 'Content-Length', String(answer.length)])
    response.end(answer)
  })
})

servePeer({ listen: () => listening(server) })
