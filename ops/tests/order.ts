import { relative } from 'node:path'

/** The files that take longest, by what `npm test -- --report` printed; a long one that began last would be waited for alone. */
const LONGEST = [
  'test/e2e/notify.test.ts',
  'test/attack/memory.test.ts',
  'test/e2e/file-schedules.test.ts',
  'test/transports/slack/bolt.test.ts',
  'test/e2e/clock-redis.test.ts',
  'test/e2e/four-roads.test.ts',
  'test/features/bullmq/queue-route.test.ts',
  'test/transports/slack/bolt-forms.test.ts',
  'test/transports/email/faults.test.ts',
  'test/e2e/drain.test.ts',
  'test/browser/console.test.ts',
  'test/transports/slack/bolt-events.test.ts',
  'test/e2e/assistant.test.ts',
  'test/ops/docs.test.ts',
  'test/e2e/crash-store-away.test.ts',
  'test/cli/project.test.ts',
  'test/features/bullmq/gateway.test.ts',
  'test/transports/slack/bolt-every-kind.test.ts',
  'test/transports/slack/bolt-samples.test.ts',
  'test/features/push.test.ts',
  'test/e2e/crash.test.ts',
  'test/contract/redis-store.test.ts',
  'test/transports/email/loop.test.ts',
  'test/attack/bounded-token.test.ts',
  'test/transports/email/smtp-session.test.ts',
  'test/transports/email/mailbox.test.ts',
  'test/cli/commands.test.ts',
  'test/e2e/delivery-bounds.test.ts',
  'test/browser/oidc.test.ts',
  'test/transports/slack/agent.test.ts',
  'test/e2e/schedules.test.ts',
  'test/transports/slack/bolt-receivers.test.ts',
  'test/stores/redis/shards.test.ts',
  'test/transports/websocket/liveness.test.ts',
  'test/e2e/mcp-servers.test.ts',
  'test/e2e/health.test.ts',
  'test/transports/slack/bolt-typescript.test.ts',
  'test/e2e/unrouted.test.ts',
  'test/transports/slack/oauth.test.ts',
  'test/transports/email/backlog.test.ts',
  'test/ops/alerts.test.ts',
  'test/e2e/webhook.test.ts',
]

/** The files in the order in which they begin: the longest first. */
export function inOrder(files: string[]): string[] {
  const rank = (file: string) => {
    const index = LONGEST.indexOf(relative(process.cwd(), file))
    return index < 0 ? LONGEST.length : index
  }
  return files.toSorted((a, b) => rank(a) - rank(b))
}
