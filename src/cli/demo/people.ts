/** Who works at the shop of the demo, as Slack knows them. */
export const TEAM = [
  { id: 'U01MARA', name: 'Mara Lindqvist' },
  { id: 'U02JONAS', name: 'Jonas Weber' },
  { id: 'U03AIKO', name: 'Aiko Tanaka' },
  { id: 'U04SAM', name: 'Sam Okafor' },
  { id: 'U05LENA', name: 'Lena Novák' },
] as const

/** The channels of its Slack, by id. */
export const CHANNELS: Readonly<Record<string, string>> = {
  C01OPS: 'ops',
  C02SHOP: 'shop',
  C03SUPPORT: 'support',
}

const NAMES =
  'Ada Byrne,Tomás Herrera,Ingrid Solberg,Kwame Mensah,Yuki Nakamura,Priya Raman,Luca Moretti,Zoë van Dijk,Björn Åkesson,' +
  'Fatima al-Sayed,Noah Fischer,Chloé Bernard,Wei Zhang,Ola Nowak,Siobhán Kelly,Mateus Rocha,Hannah Berg,Dmytro Koval,' +
  'Amelia Wright,Nils Hagen,Leïla Haddad,Erik Johansson,Grace Adeyemi,Pavel Dvořák,Sofía Castillo,Tariq Hassan,Eva Lang,' +
  'Olu Bankole,Marta Kowalska,Ben Carter'
const DOMAINS = [
  'mail.example',
  'post.example',
  'inbox.example',
  'studio-nord.example',
  'cafe-linden.example',
]

/** Its customers. */
export const CUSTOMERS = NAMES.split(',').map((name, at) => {
  const local = name
    .normalize('NFD')
    .replaceAll(/[^A-Za-z ]/g, '')
    .toLowerCase()
    .replaceAll(' ', '.')
  return { name, address: `${local}@${DOMAINS[at % DOMAINS.length]}`, login: local }
})

export type Customer = (typeof CUSTOMERS)[number]

/** What its website says who chats: so a chat has a name. */
export const chatToken = (login: string) => `demo-${login}`

/** What stays the same within a dialogue; its words name these in braces. */
export type Facts = Record<'order' | 'product' | 'city' | 'amount' | 'count' | 'version' | 'name', string>
