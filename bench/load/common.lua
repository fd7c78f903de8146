-- What the scripts for wrk here share: requests as text, and a report in one line of JSON. wrk runs in this folder, with one thread.
local common = {}
local tail, json_head, thread = nil, nil, nil
statuses = {} -- how many answers of each; global, so that the main state can ask the thread for it

-- To be called first, in the script's init().
function common.begin()
    math.randomseed(os.time())
    tail = " HTTP/1.1\r\nHost: " .. wrk.host .. ":" .. wrk.port .. "\r\n\r\n"
    json_head = " HTTP/1.1\r\nHost: " .. wrk.host .. ":" .. wrk.port .. "\r\nContent-Type: application/json\r\n"
end

function common.get(path)
    return "GET " .. path .. tail
end

function common.delete(path)
    return "DELETE " .. path .. tail
end

-- fields are further header lines, each with its end.
function common.post(path, body, fields)
    return "POST " .. path .. json_head .. (fields or "") .. "Content-Length: " .. #body .. "\r\n\r\n" .. body
end

-- Ids 1 to 12500 of the demo data, of which four in five exist; `spread` is how many times as many there are.
function common.product(spread)
    return common.get("/products/" .. math.random(12500 * (spread or 1)))
end

function setup(it)
    thread = it
end

function response(status)
    statuses[status] = (statuses[status] or 0) + 1
end

function done(summary, latency)
    local counts = {}
    for status, count in pairs(thread:get("statuses")) do
        counts[#counts + 1] = string.format('"%d": %d', status, count)
    end
    local lost = summary.errors
    print(string.format(
        'RESULT {"requests": %d, "microseconds": %d, "p50": %d, "p99": %d, "p999": %d, "max": %d, "broken": %d, "late": %d, "statuses": {%s}}',
        summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), latency:percentile(99.9), latency.max,
        lost.connect + lost.read + lost.write, lost.timeout, table.concat(counts, ", ")))
end

return common
