"""Word lists, in lower case and singular; add entries freely."""

from collections.abc import Iterable

from text import patterns


def listed(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


def words(text: str) -> frozenset[str]:
    """Comma-separated entries, which may contain spaces."""
    return frozenset(entry.strip() for entry in text.replace("\n", " ").split(",") if entry.strip())


def any_of(names: Iterable[str]) -> str:
    """A pattern that matches any of these, the longest first."""
    return "(?:" + "|".join(sorted(map(patterns.escape, names), key=len, reverse=True)) + ")"


def forms(text: str) -> dict[str, str]:
    """Maps each form to its name. Entries, separated by semicolons: "name: form, form", or the name alone."""
    found: dict[str, str] = {}
    for entry in text.split(";"):
        name, _, said = entry.partition(":")
        for form in (said or name).split(","):
            found[form.strip()] = name.strip()
    return found


KIN = words(
    "wife, husband, spouse, partner, girlfriend, boyfriend, fiance, fiancé, fiancee, fiancée, ex, mother, mom, mum,"
    " mommy, father, dad, daddy, parent, parents,"
    " sister, brother, sibling, twin, son, daughter, kid, kids, child, children, baby, toddler, stepson,"
    " stepdaughter, stepfather, stepmother, grandmother, grandma, gran, nan,"
    " grandfather, grandpa, grandad, grandson, granddaughter, aunt, auntie, uncle, cousin, niece, nephew,"
    " mother-in-law, father-in-law, sister-in-law, brother-in-law,"
    " mother in law, father in law, sister in law, brother in law, in-laws, godmother, godfather, godson,"
    " goddaughter, family,"
    " older brother, older sister, younger brother, younger sister, big brother, big sister, little brother, little"
    " sister, eldest, youngest, oldest"
)
SOCIAL = words(
    "friend, best friend, roommate, room mate, flatmate, flat mate, housemate, neighbour, neighbor, colleague,"
    " coworker, co-worker, teammate, tutor, teacher, student, buddy, mate,"
    " mentor, mentee, coach, trainer, nanny, babysitter, cleaner, client, customer, supervisor, professor, pal,"
    " landlord, landlady, tenant, intern, assistant, cofounder, co-founder,"
    " business partner, lawyer, solicitor, accountant, tax adviser, tax advisor, notary, doctor, gp, dentist,"
    " therapist, psychologist, psychiatrist, physio,"
    " physiotherapist, vet, pediatrician, paediatrician, dermatologist, cardiologist, allergist, midwife,"
    " hairdresser, barber, plumber, electrician, mechanic, agent, broker, banker,"
    " optician, orthodontist, personal trainer, piano teacher, realtor, estate agent, gardener, surgeon,"
    " neurologist, nutritionist, dietitian, specialist, godparent, counsellor, contractor, deputy, hygienist, carer,"
    " childminder, caretaker, bookkeeper, secretary, social worker, case worker, instructor, vicar, priest, rabbi,"
    " imam,"
    " sponsor, guide runner"
)
BOSS = words(
    "manager, boss, line manager, supervisor, team lead, tech lead, lead, direct manager, skip-level, skip level,"
    " engineering manager, em, director, head of department, line lead, product owner"
)
REPORTEE = words(
    "report, direct report, reports, direct reports, intern, assistant, mentee, junior, apprentice, trainee, working"
    " student"
)
PET = words(
    "dog, cat, puppy, kitten, rabbit, hamster, parrot, horse, pony, tortoise, turtle, guinea pig, budgie, goldfish,"
    " ferret, snake, lizard, gecko, bunny, pet, hen, pup, canary"
)
# Roles that several persons can have, as in keys.
SEVERAL = listed(
    "sister brother sibling son daughter kid child baby cousin aunt auntie uncle niece nephew grandson granddaughter"
    " friend colleague coworker co_worker teammate neighbour neighbor report direct_report intern client customer"
    " student mentee buddy mate pal roommate flatmate godson goddaughter grandmother grandma grandfather grandpa"
    " parent twin stepson stepdaughter tenant teacher tutor specialist"
)
DIETS = forms(
    "vegan; vegetarian: vegetarian, veggie, veg; pescatarian: pescatarian, pescetarian; flexitarian;"
    " keto: keto, ketogenic; paleo; halal; kosher; gluten-free: gluten-free, gluten free;"
    " lactose-free: lactose-free, lactose free; dairy-free: dairy-free, dairy free;"
    " plant-based: plant-based, plant based; low-carb: low-carb, low carb; carnivore;"
    " omnivore: omnivore, meat eater; fodmap: fodmap, low-fodmap; sugar-free; raw food;"
    " mediterranean: mediterranean diet"
)

MEDICINES = words(
    "lisinopril, metformin, ibuprofen, paracetamol, acetaminophen, aspirin, warfarin, insulin, levothyroxine,"
    " atorvastatin, simvastatin, omeprazole, pantoprazole, amlodipine, ramipril,"
    " bisoprolol, metoprolol, losartan, sertraline, citalopram, escitalopram, fluoxetine, lithium, ritalin,"
    " methylphenidate, adderall, concerta, antihistamine, cetirizine, loratadine, salbutamol,"
    " ventolin, prednisone, prednisolone, methotrexate, gabapentin, tramadol, codeine, amoxicillin, penicillin,"
    " doxycycline, eliquis, xarelto, apixaban, statins, beta blockers, blood thinners,"
    " antidepressants, the pill, iron supplements, vitamin d, vitamin b12, melatonin, l-thyroxine, thyroxine,"
    " ozempic, wegovy, humira, zoloft, prozac, xanax, lexapro, synthroid, finasteride, spironolactone, propranolol,"
    " candesartan"
)
MEDICINE_ENDING = (
    "pril",
    "statin",
    "olol",
    "sartan",
    "azole",
    "cillin",
    "formin",
    "oxetine",
    "prazole",
    "mycin",
    "thyroxine",
    "triptan",
    "dipine",
    "gliptin",
    "gliflozin",
    "cycline",
    "pram",
    "traline",
)

# Companies recognised as employers after a bare "moved to X" or "at X".
COMPANIES = words(
    "siemens, bosch, vw, volkswagen, airbus, allianz, bmw, audi, daimler, mercedes, porsche, sap, telekom, deutsche"
    " bahn, lufthansa, bayer, basf, zalando, delivery hero, google, apple, amazon, aws,"
    " microsoft, meta, facebook, netflix, spotify, stripe, shopify, uber, lyft, airbnb, tesla, ibm, intel, nvidia,"
    " amd, oracle, salesforce, adobe, cisco, dell, hp, samsung, sony, philips, asml, ing,"
    " ikea, nokia, ericsson, novartis, roche, nestle, nestlé, ubs, hsbc, barclays, santander, bbva, deloitte, kpmg,"
    " pwc, ey, accenture, mckinsey, bcg, bain, booking, adyen, klarna, revolut, monzo, n26,"
    " openai, anthropic, deepmind, databricks, snowflake, datadog, github, gitlab, atlassian, canva, hubspot,"
    " zendesk, twilio, dropbox, slack, zoom, pfizer, moderna, astrazeneca, gsk, boeing, lockheed,"
    " shell, bp, total, enel, eon, unilever, loreal, l'oréal, nike, adidas, puma, h&m, zara, inditex, lidl, aldi,"
    " tesco, walmart, target, fedex, dhl, ups, thales, safran, renault, peugeot, ferrari, fiat,"
    " volvo, scania, maersk, vodafone, orange, telefonica, bt, goldman sachs, goldman, jpmorgan, morgan stanley,"
    " citi, visa, mastercard, paypal, linkedin, twitter, tiktok, bytedance, pinterest, reddit,"
    " toyota, honda, nissan, hitachi, fujitsu, infosys, tcs, wipro, cloudflare, red hat, suse, canonical, elastic,"
    " mongodb, hashicorp, vercel, figma, notion, miele, henkel, continental, zf, infineon"
)
COMPANY_ENDING = (
    " gmbh",
    " ag",
    " inc",
    " ltd",
    " llc",
    " corp",
    " plc",
    " bank",
    " labs",
    " university",
    " hospital",
    " group",
    " studios",
    " consulting",
    " systems",
    " software",
    " solutions",
    " school",
    " clinic",
    " bakery",
    " college",
)

# Names of products, which are no persons.
PRODUCTS = words(
    "1password, abn amro, adobe xd, alacritty, aldi talk, amazon music, android phone, android studio, angular,"
    " apple music, apple notes, arch, arch linux, asana, astra, astro, at&t, audi, aurora, aws, azure, azure"
    " pipelines, bamboo, bank of america, barclays, bare metal, basecamp, bash, bbva, bear, bigquery, bitbucket,"
    " bitwarden, bmw, bnp paribas, brave, buildkite, bun, bunq, c#, c++, caixabank, canva, capital one, cassandra,"
    " celery, chase, chevrolet, chrome, chromebook, chromeos, chromium, circleci, citibank, citroen, civic,"
    " clickhouse, clickup, clio, clojure, cloudflare, cockroachdb, codeberg, comdirect, commerzbank, conda,"
    " congstar, corolla, corsa, couchdb, craft, credit suisse, cursor, dacia, dashlane, debian, deezer, dell xps,"
    " deutsche bank, digital ocean, digitalocean, discord, django, dkb, drone, duckdb, duster, dynamodb, eclipse,"
    " ee, elixir, emacs, evernote, express, fabia, fairphone, fastapi, fastmail, fedora, fiat, fiat 500, fiesta,"
    " figma, firefox, firestore, fish, flask, fly.io, focus, ford, forgejo, framework laptop, freebsd, galaxy, gcp,"
    " ghostty, giffgaff, gitea, github, github actions, gitlab, gitlab ci, gmail, goland, golang, golf, google"
    " cloud, google keep, google meet, halifax, haskell, helix, heroku, hetzner, hey, honda, honda civic, honda"
    " jazz, hsbc, htmx, hyundai, ibiza, icloud mail, id.3, id.4, imac, ing, intellij, ioniq, iphone, iterm, iterm2,"
    " java, javascript, jazz, jeep, jenkins, jira, jitsi, joplin, julia, kafka, keepass, keepassxc, kia, kindle,"
    " kitty, kobo, kona, kotlin, kpn, land rover, laravel, lastpass, leaf, lebara, leon, lexus, librewolf, linear,"
    " linode, linux, linux mint, lloyds, logseq, mac mini, mac os, macbook, macbook air, macbook pro, macos,"
    " mailbox.org, mariadb, matrix, mattermost, mazda, megane, mercedes, microsoft teams, mini, mini cooper, mint,"
    " mitsubishi, model 3, model y, monday.com, mongo, mongodb, monzo, motorola, movistar, ms teams, mssql, mysql,"
    " n26, nano, nationwide, nats, natwest, neo4j, neovim, nestjs, netlify, next.js, nextjs, niro, nissan, nixos,"
    " nordea, notepad++, nothing phone, notion, npm, nushell, nuxt, nvim, o2, obsidian, ocaml, octavia, oh my zsh,"
    " on prem, on-prem, onenote, oneplus, opel, opera, oracle, orange, outlander, outlook, ovh, panda, passat,"
    " penpot, perl, peugeot, phoenix, php, pip, pipenv, pixel, pnpm, pocketbook, poetry, polestar, polo, pop os,"
    " porsche, posteo, postfinance, postgres, postgresql, powershell, prius, proton, proton mail, protonmail,"
    " pulsar, pycharm, python, qashqai, qobuz, rabbitmq, rabobank, rails, react, redis, redmine, redshift,"
    " remarkable, remix, renault, render, revolut, rider, roam, rocket.chat, rstudio, ruby, rust, safari, sandero,"
    " santander, scala, scaleway, seat, seb, shortcut, sidekiq, signal, sketch, skoda, skoda fabia, skype, slack,"
    " snowflake, societe generale, solidjs, soundcloud, sourcehut, sparkasse, spotify, spring, spring boot, sql"
    " server, sqlite, sqs, starling, subaru, sublime, sublime text, sunrise, surface, suzuki, svelte, sveltekit,"
    " swift, swisscom, t-mobile, teamcity, telefonica, telegram, telekom, tesla, thinkpad, three, tidal, tiguan,"
    " timescaledb, tmux, tolino, toyota, travis, travis ci, trello, triodos, tutanota, typescript, ubs, ubuntu,"
    " unicredit, uv, vercel, verizon, vim, vivaldi, vodafone, volkswagen, volvo, vs code, vscode, vue, vw golf,"
    " webex, webstorm, wells fargo, wezterm, whatsapp, whereby, windows, windows 10, windows 11, windows terminal,"
    " wise, xcode, xiaomi, xps, yahoo mail, yaris, yarn, youtrack, youtube music, zed, zoe, zoom, zsh, zulip"
)

LANGUAGES = words(
    "english, french, german, spanish, italian, portuguese, dutch, polish, russian, ukrainian, turkish, arabic,"
    " hebrew, hindi, urdu, bengali, chinese, mandarin, cantonese, japanese, korean, swedish,"
    " norwegian, danish, finnish, icelandic, czech, slovak, hungarian, romanian, bulgarian, greek, croatian,"
    " serbian, slovenian, catalan, basque, galician, welsh, irish, latin, vietnamese, thai,"
    " indonesian, malay, tagalog, swahili, persian, farsi, estonian, latvian, lithuanian, afrikaans, esperanto,"
    " tamil, telugu, marathi, albanian, luxembourgish, deutsch, français, español, italiano, swiss german"
)
OCCUPATIONS = words(
    "nurse, doctor, lawyer, chef, cook, dev, developer, engineer, architect, dentist, vet, pilot, student,"
    " accountant, pharmacist, physicist, chemist, biologist, journalist, artist, musician, therapist,"
    " psychologist, translator, librarian, technician, electrician, mechanic, plumber, carpenter, farmer, baker,"
    " barista, waiter, waitress, analyst, consultant, freelancer, contractor, founder, ceo, cto, cfo,"
    " coo, vp, director, manager, lead, head, principal, professor, lecturer, researcher, scientist, postdoc, phd,"
    " intern, apprentice, trainee, secretary, treasurer, chair, chairman, chairwoman, chairperson,"
    " president, captain, coach, trainer, teacher, tutor, editor, writer, author, photographer, designer,"
    " illustrator, programmer, sysadmin, admin, sre, devops, pm, recruiter, hr, firefighter, paramedic, midwife,"
    " surgeon, gp, judge, notary, realtor, broker, banker, economist, statistician, actuary, geologist, surveyor,"
    " clerk, cashier, driver, courier, gardener, florist, hairdresser, tailor, soldier, officer,"
    " policeman, detective, social worker, caregiver, stay-at-home dad, stay-at-home mom, retired, pensioner,"
    " self-employed, unemployed, copywriter, marketer, producer, actor, actress, dancer, singer, composer,"
    " owner, co-owner, cofounder, co-founder, ops, qa, tester, dba, ux, data scientist, optician, radiologist,"
    " paralegal, solicitor, barrister, beekeeper, welder, bookkeeper, conductor, curator, historian, zoologist"
)
