import { createServer } from 'node:http'
import { WebSocketServer } from 'ws'
import { listening } from '../lib/listening.ts'
import { servePeer } from '../lib/serve-peer.ts'

// The yardstick of WebSocket accept: answers each frame with its own bytes.
const server = createServer()
new WebSocketServer({ server }).on('connection', (socket) => {
  socket.on('message', (data) => socket.send(data, { binary: false }))
})

servePeer({ listen: () => listening(server) })
