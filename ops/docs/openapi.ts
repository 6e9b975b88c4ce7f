import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createOwnDaemon } from '../../src/cli/own-daemon.ts'
import { type JsonObject, jsonObjectSchema } from '../../src/core/json.ts'

const ROUTES = 'gateways:\n  chat: { transport: websocket, path: /ws }\nroutes: []\n'

/**
 * The OpenAPI and AsyncAPI descriptions that a daemon with the built-in skills and a WebSocket
 * gateway serves. Throws if it does not answer.
 */
export async function readDescriptions(): Promise<{ openapi: JsonObject; asyncapi: JsonObject }> {
  const cwd = await mkdtemp(join(tmpdir(), 'trivium-docs-'))
  await writeFile(join(cwd, 'routes.yaml'), ROUTES)
  const env = {
    PATH: process.env.PATH,
    TRIVIUM_LISTEN: '127.0.0.1:0',
    TRIVIUM_CONTROL_LISTEN: '127.0.0.1:0',
    TRIVIUM_LOG_LEVEL: 'silent',
  }
  const environs = { env, cwd, version: 'docs', tell: () => {} }
  const { daemon } = await createOwnDaemon(environs, { mode: 'serve', pretty: false })
  try {
    const addresses = await daemon.start()
    if (!addresses) throw new Error('the daemon does not listen')
    const token = (await readFile(join(cwd, '.trivium', 'control-token'), 'utf8')).trim()
    const read = async (path: string) => {
      const headers = { authorization: `Bearer ${token}` }
      const response = await fetch(`http://${addresses.control}${path}`, { headers })
      if (!response.ok) throw new Error(`${path} answered ${response.status}`)
      return jsonObjectSchema.parse(await response.json())
    }
    return { openapi: await read('/openapi.json'), asyncapi: await read('/asyncapi.json') }
  } finally {
    await daemon.stop()
    await rm(cwd, { recursive: true, force: true })
  }
}
