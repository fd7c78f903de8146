-- searches.lua FILE: /products?q= with the expressions of the file, one a line, at random.
local common = require("common")
local paths = {}

function init(args)
    common.begin()
    for line in io.lines(args[1]) do
        paths[#paths + 1] = "/products?q=" .. line
    end
end

function request()
    return common.get(paths[math.random(#paths)])
end
