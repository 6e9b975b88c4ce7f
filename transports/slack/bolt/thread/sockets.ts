import { createRequire } from 'node:module'
import * as bolt from '@slack/bolt'

/**
 * Prevents an app's receivers from opening sockets, also for Apps created without `hosted.ts`:
 * Slack would split the app's events between that socket and the gateway's.
 */
export function preventSockets(): void {
  bolt.SocketModeReceiver.prototype.start = async () => ({ ok: true })
  const ofBolt = createRequire(import.meta.resolve('@slack/bolt'))
  const { SocketModeClient } = ofBolt('@slack/socket-mode')
  SocketModeClient.prototype.start = async () => ({ ok: true })
}
