import { blocksOf, root } from './blocks.ts'
import { MERGE, quote, TYPED } from './commands.ts'
import { mail, model, modelWithTool, program, redis, redisWithWorker, type Servers } from './servers.ts'

/** What the blocks of a page need, beside what the page itself contains. */
export type World = {
  /**
   * Selects the YAML blocks that become the configuration. The others are only checked one by one.
   */
  configurationBlocks?: RegExp
  /** More of routes.yaml. */
  routes?: string
  /** Bash that runs before the first block, such as `id=…`. */
  prepare?: string
  /** Bash that runs before the block that contains this text. */
  before?: Readonly<Record<string, string>>
  /** Placeholders in the blocks, and their values in this run. */
  placeholders?: Readonly<Record<string, string>>
  /** Skills that the examples use, by name. */
  skills?: Readonly<Record<string, string>>
  /** Files of the reader, by path. */
  files?: Readonly<Record<string, string>>
  /**
   * Starts the servers that the blocks use. Their `replacements` also apply to `routes` and
   * `prepare`.
   */
  servers?: () => Promise<Servers>
  /** Variables of the reader, beside those that the blocks name in braces. */
  env?: Readonly<Record<string, string>>
  /** By language: the test that runs these blocks, and reads them from the page. */
  testOfLanguage?: Readonly<Record<string, string>>
}

const skill = (name: string, body: string, settings = '') =>
  `// @ts-nocheck\nexport default { name: '${name}', description: 'An example.', ${settings} run: ${body} }\n`

/** Sends a message that is answered, and sets its id. */
const SENT = 'id=$(trivium message cli hello --json | jq -r .id)\n'

/** A route to a skill that always fails. */
const FAILING = {
  routes:
    'routes: [{ name: failing, match: { gateway: cli, text: "*something*" }, skill: failing, retry: { attempts: 1 } }]',
  skills: { failing: skill('failing', `() => { throw new Error('no') }`) },
}
/** Sends a message on this route, and waits until it is a dead letter. */
const DEAD = `
dead=$(trivium message cli "something" --wait 0 --json | jq -r .id)
until trivium dead-letter show $dead > /dev/null 2>&1; do sleep 0.05; done
`

/** The gateways that the examples have. */
const GATEWAYS = `{
  team: { transport: slack, mode: socket, bot-token: xoxb-1, app-token: xapp-1, enabled: false },
  app: { transport: websocket, path: /a, tokens: { alice: alice-0123456789 } },
  shop: { transport: cli }, hub: { transport: cli }, orders: { transport: cli }, loud: { transport: cli },
  support: { transport: email, address: me@example.com, open: true, enabled: false,
    imap: { host: 127.0.0.1, user: me, pass: x }, smtp: { host: 127.0.0.1, user: me, pass: x } } }`

/** A mailbox that may write to anybody, whose servers cannot be reached. */
const MAIL = `gateways:
  mail: { transport: email, address: me@example.com, open: true, imap: { host: 127.0.0.1, port: 1, tls: none, user: me, pass: x },
    smtp: { host: 127.0.0.1, port: 1, user: me, pass: x, tls: none } }`

/** The lines of a mail with an invitation to a meeting. */
const INVITATION = `From: Ada <ada@example.net>
To: support@example.com, bea@example.net
Subject: Review
Message-ID: <review@example.net>
MIME-Version: 1.0
Content-Type: text/calendar; method=REQUEST; charset=utf-8

BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//example//EN
METHOD:REQUEST
BEGIN:VEVENT
UID:review@example.net
DTSTAMP:20261128T100000Z
DTSTART:20261201T100000Z
DTEND:20261201T110000Z
SUMMARY:Review
ORGANIZER:mailto:ada@example.net
ATTENDEE;PARTSTAT=NEEDS-ACTION:mailto:support@example.com
END:VEVENT
END:VCALENDAR`.split('\n')

/** A webhook gateway whose secret differs from that of its sender. */
const HUB =
  'hub: { transport: webhook, path: /hub, verify: { scheme: github, secret: "the-secret-of-the-gateway" } }'

const CRM = `subscriptions: [{ name: crm, url: "http://127.0.0.1:1/", secret: "$\{CRM_SECRET}", allow-private: true }]`

/** The reader is root on a machine with systemd: commands for `trivium` are run as the reader. */
const ROOT = `
sudo() {
  if [ "$1" = systemctl ]; then return; fi
  if [ "$1" = -u ]; then shift 2; fi
  until [ "$1" = trivium ]; do shift; done
  "$@"
}
`

/**
 * The reader has Docker and Kubernetes: commands for containers are run as the reader. An archive
 * passes through a process, because the commands of the page have no stdin.
 */
const CLUSTER = `
mkdir copy && export TMPDIR="$PWD/copy"
inside() {
  local before=$1
  shift
  until [ $# = 0 ] || [ "$1" = "$before" ]; do shift; done
  case "$*" in
    *' -') ${quote(process.execPath)} ../node_modules/trivium/bin/trivium.js "$\{@:3}" ;;
    *) "$\{@:2}" ;;
  esac
}
docker() { inside trivium "$@"; }
kubectl() { inside -- "$@"; }
helm() { :; }
git() { :; }
sleep() { :; }
sh() { (eval "$2"); }
`

/** The reader has copies of the manifests. */
const MANIFESTS = `mkdir ops && cp '${root}'/ops/kubernetes*.yaml ops/\n`

/** The reader has an installation of each kind. */
const BACKUPS = `${CLUSTER}
sudo() {
  case $1 in
    systemd-run) until [ "$1" = trivium ]; do shift; done; inside trivium trivium "$@" ;;
    cat) "$@" ;;
    *) cat > /dev/null ;;
  esac
}
`

/** The reader upgrades an installation of each kind. */
const UPGRADES: World = {
  prepare: `${BACKUPS}${MANIFESTS}
npm() { :; }
mv() { [ "$1" = "$2" ] || command mv "$@"; }
journalctl() { :; }
mkdir -p srv/my-bot trivium/ops
touch trivium/ops/.env package-lock.json values.yaml trivium-0.2.0.tgz
cp routes.yaml srv/my-bot/
`,
  before: { 'mkdir -m 0700 ~/before': 'rm -rf ~/before-*\n' },
  placeholders: {
    'node ~/trivium/bin/trivium.js': 'trivium',
    'node bin/trivium.js': 'trivium',
    '--config bot/': '--config srv/my-bot/',
    'sudo test': 'test',
    'trivium restore': 'trivium --data-dir restored restore',
    'unit restore': 'unit --data-dir restored restore',
    '/etc/trivium/skills': '"$OLDPWD/skills"',
    '/etc/trivium/routes-0.2.yaml': 'routes.yaml',
    '/etc/trivium/routes-new.yaml': 'routes.yaml',
    '/etc/trivium/routes.yaml': 'routes.yaml',
    '/var/lib/trivium': '.trivium',
    '/var/backups/trivium/': './',
    '/srv/my-bot': 'srv/my-bot',
    '| sudo tee': '| tee',
    'cd ~/trivium': 'cd .',
    'cd ~/my-bot': 'cd .',
    '~/my-bot/': './',
  },
}

/** A log among the lines of systemd. */
const LOG = `Started trivium.service
${blocksOf('docs/monitoring.md').find(({ language }) => language === 'json')?.code ?? ''}
`

/** The model that pages configure. */
const MODEL = 'model: { name: "local:tiny", base-url: "http://127.0.0.1:11434/v1", api-key: sk-1234567890 }'

/** A gateway for workers. */
const JOBS = 'gateways: { jobs: { transport: webhook, path: /hooks/jobs, respond: result } }'

const ANSWERING = 'test/e2e/answer.test.ts'

export const worlds: Readonly<Record<string, World>> = {
  'README.md': {
    prepare: SENT,
    placeholders: { ' ID\n': ' $id\n' },
    configurationBlocks: /shouting/,
    routes: JOBS,
  },
  'docs/index.md': { configurationBlocks: /shouting/ },
  'docs/api.md': { testOfLanguage: { sh: 'test/e2e/api-page.test.ts' }, routes: `gateways: ${GATEWAYS}` },
  'docs/approvals.md': { routes: `gateways: ${GATEWAYS}` },
  'docs/assistant.md': {
    before: { 'delegation take': 'trivium message cli "delegate to ada: check the invoices"\n' },
  },
  'docs/command-line.md': {
    routes: `gateways: ${GATEWAYS}`,
    prepare: ROOT,
    placeholders: {
      'trivium() {': 'short() {',
      '/srv/trivium': '$PWD',
      '/etc/trivium/routes.yaml': 'routes.yaml',
      '/var/lib/trivium': '.trivium',
    },
  },
  'docs/email.md': {
    servers: mail,
    routes: `gateways:
  support: { transport: email, address: support@example.com, open: true, authentication: off,
    imap: { host: 127.0.0.1, port: 1143, tls: none, user: support@example.com, pass: MAIL_PASSWORD },
    smtp: { host: 127.0.0.1, port: 1025, tls: none } }`,
    prepare: `printf '%s\\r\\n' ${INVITATION.map(quote).join(' ')} > invitation.eml
curl smtp://127.0.0.1:1025 --mail-from ada@example.net --mail-rcpt support@example.com -T invitation.eml
invited() { trivium message list --gateway support --json | jq -r '.messages[0].id // empty'; }
until id=$(invited) && [ -n "$id" ]; do sleep 0.05; done
`,
  },
  'docs/events.md': { routes: `gateways: ${GATEWAYS}` },
  'docs/faq.md': { prepare: SENT, placeholders: { ' ID ': ' $id ' } },
  'docs/failures.md': {
    ...FAILING,
    servers: redis,
    routes: `{ ${FAILING.routes}, gateways: ${GATEWAYS.replace('hub: { transport: cli }', HUB)},
  schedules: [{ name: clean-up, every: 1d, skill: echo }] }`,
    before: {
      '# one of them': `trivium gateway resume cli\n${DEAD}`,
      'refusal try': `
signature=$(printf %s '{}' | openssl dgst -sha256 -hmac ${quote(TYPED)} | sed 's/.* /sha256=/')
curl "http://$TRIVIUM_LISTEN/hub" -d '{}' -H "x-hub-signature-256: $signature" -H 'x-github-event: push' && exit 1
`,
    },
    prepare: `journalctl() { :; }; docker() { :; }; kubectl() { :; }; npm() { :; }\n${ROOT}${DEAD}`,
    placeholders: {
      // The skill of this world always fails, and a retry that fails again exits with 1.
      'retry ID        # one of them': 'retry $dead --no-wait # one of them',
      'ID ID ID': 'several ids',
      'message erase ID': 'message erase $(trivium message shop hi --wait 0 --json | jq -r .id)',
      ' ID ': ' $dead ',
      ' ID\n': ' $dead\n',
      'trivium store pause': 'trivium --data-dir paused store pause',
      '/etc/trivium/routes.yaml': 'routes.yaml',
      '--data-dir /var/lib/trivium': '--data-dir paused',
      '/var/lib/trivium': '.trivium',
    },
  },
  'docs/routes.md': {
    routes: `gateways: ${GATEWAYS}`,
    prepare: `${SENT}trivium message show $id --json | jq .message > message.json\n`,
    placeholders: { ' ID ': ' $id ' },
  },
  'docs/kubernetes.md': {
    prepare: `${CLUSTER}read() { VALUE='a "value"'; }\n`,
    placeholders: {
      'trivium() {': 'short() {',
      'cd ~/my-bot': 'cd .',
      '~/trivium/ops/': `${root}/ops/`,
      "jsonpath='{.data.TRIVIUM_TOKEN}' | base64 -d": "jsonpath='{.data.TRIVIUM_TOKEN}'",
    },
  },
  'docs/new-versions.md': UPGRADES,
  'docs/upgrading.md': UPGRADES,
  'docs/notifications.md': {
    ...FAILING,
    routes: `{ ${FAILING.routes}, gateways: ${GATEWAYS} }`,
  },
  'docs/backup.md': {
    testOfLanguage: { bash: 'test/ops/backup-script.test.ts' },
    prepare: `${BACKUPS}${SENT}${SENT}mkdir -p restored/state
age() { :; }
redis-server --port 0 --unixsocket redis.sock --save "" > redis.log &
until redis-cli -s redis.sock ping > /dev/null 2>&1; do sleep 0.05; done
redis-cli -s redis.sock mset '{trivium}:format' 1 '{trivium:kv}:index' 1 '{other}:key' 1 > /dev/null
`,
    placeholders: {
      'redis-cli -u redis://localhost:6379': 'redis-cli -s redis.sock',
      "redis --scan --pattern '{trivium[}:]*'                   # prints nothing":
        '[ "$(redis --scan)" = "{other}:key" ]',
      'cd ~/my-bot': 'cd .',
      '/var/backups/trivium/': './',
      '/var/tmp/': './',
      '/etc/trivium/routes.yaml': 'routes.yaml',
      '/var/lib/trivium': 'restored',
      '2026-11-28.tgz': '"$(date +%F).tgz"',
      '/backups': '.',
      'trivium restore': 'trivium --data-dir restored restore',
    },
  },
  'docs/moving.md': {
    prepare: `${BACKUPS}\ntrivium backup trivium.tgz\n`,
    placeholders: {
      '/etc/trivium/routes.yaml': 'routes.yaml',
      '/var/lib/trivium': 'moved',
      '/var/tmp/': './',
    },
  },
  'docs/monitoring.md': {
    prepare: 'journalctl() { cat log; }; docker() { cat log; }; kubectl() { cat log; }\n',
    files: { log: LOG },
    placeholders: {
      'https://hc-ping.com/YOUR-ID': '"http://$TRIVIUM_CONTROL_LISTEN/healthz"',
      ' ID ': ` $(trivium trouble list --json | jq -r '.troubles[0].id') `,
    },
    before: {
      'trivium trouble list                     # the most urgent first': `
mkdir -p skills/failing && printf %s ${quote(FAILING.skills.failing)} > skills/failing/index.ts
trivium ${MERGE} ${quote(FAILING.routes)}; trivium reload
${DEAD}`,
    },
  },
  'docs/settings.md': { routes: `gateways: ${GATEWAYS}` },
  'docs/pausing.md': {
    routes: `
      gateways: { shop: { transport: websocket, path: /shop } }
      routes: [{ name: slow, match: { text: slow }, skill: slow }]`,
    skills: {
      slow: skill(
        'slow',
        `async ({ manager, signal }) => {
          await manager.invoke('state-set', { key: 'begun', value: true })
          await new Promise((resolve) => signal.addEventListener('abort', resolve))
        }`,
      ),
    },
    prepare: `${SENT}conversation=$(trivium message show $id --json | jq -r .message.conversation)\n`,
    before: {
      'note delete': `note=$(trivium conversation note cli "$conversation" "to be deleted" --json | jq -r .id)\n`,
      'run cancel':
        'message=$(trivium message cli slow --wait 0 --json | jq -r .id)\ntrivium state wait --key begun\n',
    },
    placeholders: { CONVERSATION: '"$conversation"', GATEWAY: 'cli', MESSAGE: '$message', NOTE: '$note' },
  },
  'docs/personal-data.md': {
    routes:
      'gateways: { support: { transport: cli }, shop: { transport: cli } }\nroutes: [{ name: all, match: { gateway: [support, shop] }, skill: echo }]',
    prepare: `kubectl() { :; }; docker() { :; }
${ROOT}${['support', 'shop']
  .map((gateway) => `trivium message ${gateway} "Where is my order?" --from alice@example.com\n`)
  .join('')}trivium message shop '{"customer":"alice@example.com"}' --from provider\n`,
    // The page defines a function `trivium`, which would replace the command of these tests.
    placeholders: {
      ' && cd ~/alice': '',
      'trivium() {': 'short() {',
      'sudo -u trivium trivium --config /etc/trivium/routes.yaml --data-dir /var/lib/trivium compact': ':',
      'http://127.0.0.1:8787': 'http://$TRIVIUM_CONTROL_LISTEN',
    },
  },
  'docs/push.md': {
    routes: `gateways: ${GATEWAYS}`,
    configurationBlocks: /name: local/,
    placeholders: { 'http://127.0.0.1:8787': 'http://$TRIVIUM_CONTROL_LISTEN' },
    before: {
      'subscription show':
        'until trivium subscription show local --json | grep -q 200; do sleep 0.05; done\n',
      'subscription replay': `trivium ${MERGE} ${quote(CRM)}; trivium reload\n`,
    },
  },
  'docs/listen.md': {
    servers: program,
    configurationBlocks: /keep-original/,
    env: { TOKEN: 'the-token-of-the-lab' },
    routes: 'gateways: { lab: { transport: webhook, path: /lab }, support: { transport: cli } }',
    files: { 'handle.sh': '#!/bin/sh\ngrep -q order\n' },
    prepare: `chmod +x handle.sh
push() {
  local signature
  signature=$(printf %s "$1" | openssl dgst -sha256 -hmac "$SECRET" | sed 's/.* /sha256=/')
  curl "http://$TRIVIUM_LISTEN/hub" -d "$1" -H "x-hub-signature-256: $signature" -H 'x-github-event: push' \
    -H "x-github-delivery: $1"
}
push 1; push 2
curl "http://$TRIVIUM_LISTEN/lab" -d hello
trivium message support "an order" --wait 0
`,
    // These commands end when the events are delivered, and not at Ctrl-C.
    placeholders: {
      '/hook\n': '/hook --replay --max 2 --gateway hub\n',
      '$TOKEN"\n': '$TOKEN" --replay --max 1\n',
      'support\n': 'support --replay --max 1\n',
    },
  },
  'docs/models.md': {
    servers: () => model('What is the order number of your parcel?'),
    routes: MODEL,
  },
  'docs/operating.md': {
    prepare: 'sudo() { if [ "$1" = tee ]; then cat > /dev/null; fi; }\nsudoedit() { :; }\npm2() { :; }\n',
    placeholders: {
      '~/my-bot/node_modules/trivium/ops': `${root}/ops`,
      'cd ~/my-bot': 'cd .',
      'https://hooks.acme.com/hooks/github': 'http://$TRIVIUM_LISTEN/hooks/demo',
    },
  },
  'docs/queues.md': {
    servers: redisWithWorker,
    routes: `queues: { redis: "redis://127.0.0.1:1" }
gateways: { shop: { transport: webhook, path: /shop, respond: result } }
routes: [{ name: book, match: { gateway: shop }, skill: invoice }]`,
    prepare: `curl "http://$TRIVIUM_LISTEN/shop" -H 'content-type: application/json' -d '{"text":"invoice 7"}' | grep 'did invoice 7'
`,
    testOfLanguage: { js: 'test/features/bullmq/queue-route.test.ts' },
  },
  'docs/schedules.md': {
    configurationBlocks: /name: clean-up/,
    skills: {
      report: skill('report', "() => 'done'"),
      'clean-up': skill('clean-up', '() => undefined'),
    },
  },
  'docs/security.md': { routes: `gateways: ${GATEWAYS}` },
  'docs/send.md': { routes: MAIL, prepare: SENT, placeholders: { ' ID': ' $id' } },
  'docs/send-later.md': {
    routes: MAIL,
    prepare: SENT,
    before: {
      'mail:W3': `
for key in W3 W4; do trivium gateway send "Hi." --gateway mail --to ada@example.com --in 2h --key $key; done
trivium gateway send "Hi." --message-id $id --in 2h --key W5
`,
    },
    placeholders: { ' ID': ' $id' },
  },
  'docs/callbacks.md': {
    servers: () => modelWithTool({ item: 'lamp' }, (stock) => `We have ${stock} lamps.`),
    configurationBlocks: /skill: order \}|tokens:/,
    routes: `{ ${MODEL}, gateways: { shop: { transport: webhook, path: /hooks/shop, respond: result } } }`,
  },
  'docs/bolt.md': { routes: `gateways: ${GATEWAYS}` },
  'docs/slack.md': { routes: `gateways: ${GATEWAYS}` },
  'docs/start.md': {
    configurationBlocks: /hooks.jobs|hooks.shop|queue: invoices/,
    servers: redisWithWorker,
    placeholders: { '$(openssl rand -hex 20)': '$SHOP_SECRET' },
  },
  'docs/once.md': {
    routes:
      'routes: [{ name: order, match: { text: order }, skill: charge, args: { order: "7" }, retry: { attempts: 2, delay: 1ms } }]',
    prepare: `
printf %s ${quote(skill('charge', `(ctx) => ctx.once('order:7', () => { throw new Error('socket hang up') })`))} > skills/charge/index.ts
trivium reload
dead=$(trivium message cli order --wait 0 --json | jq -r .id)
until trivium dead-letter show $dead > /dev/null 2>&1; do sleep 0.05; done
`,
    placeholders: { ' ID\n': ' $dead\n' },
  },
  'docs/workers.md': {
    configurationBlocks: /hooks.jobs/,
    testOfLanguage: { python: ANSWERING, bash: ANSWERING },
  },
  'docs/other-machines.md': {
    configurationBlocks: /name: worker/,
    routes: JOBS,
    files: {
      'worker.ts': blocksOf('docs/workers.md').find(({ saveAs }) => saveAs === 'worker.ts')?.code ?? '',
    },
    placeholders: {
      'https://api.example.com': 'http://$TRIVIUM_CONTROL_LISTEN',
      'worker.ts\n': `worker.ts & worker=$!\ncurl "http://$TRIVIUM_LISTEN/hooks/jobs" -d hello | grep HELLO\nkill $worker\n`,
    },
  },
  'docs/chats.md': {
    configurationBlocks: /transport: webhook/,
    env: {
      WHATSAPP_TOKEN: 'EAAB',
      DISCORD_TOKEN: 'MTA',
      DISCORD_SECRET: '0f'.repeat(32),
      TEAMS_SECRET: 'c2VjcmV0',
      TELEGRAM_SECRET: 'telegram-secret',
    },
    placeholders: {
      '$(openssl rand -hex 20)': '$TELEGRAM_SECRET',
      'https://api.telegram.org/bot$TELEGRAM_TOKEN/setWebhook': 'http://$TRIVIUM_LISTEN/hooks/demo',
      'https://discord.com/api/v10/applications/APP_ID/commands': 'http://$TRIVIUM_LISTEN/hooks/demo',
      'https://graph.facebook.com/v25.0/WABA_ID/subscribed_apps': 'http://$TRIVIUM_LISTEN/hooks/demo',
    },
  },
  'docs/webhook-providers.md': {
    configurationBlocks: /acme:/,
    prepare: `printf 'ACME_SECRET=%s\\n' "$ACME_SECRET" > .env\n${SENT}`,
    placeholders: { ' ID ': ' $id ' },
    routes: 'gateways: { okta: { transport: webhook, path: /hooks/okta } }',
  },
  'docs/webhook.md': {
    prepare: `printf 'GITHUB_WEBHOOK_SECRET=%s\\n' "$GITHUB_WEBHOOK_SECRET" > .env\n`,
  },
  'docs/websocket.md': { testOfLanguage: { js: 'test/transports/websocket/sample-client.test.ts' } },
  'docs/stores.md': { testOfLanguage: { redis: 'test/stores/redis/failures.test.ts' } },
}
